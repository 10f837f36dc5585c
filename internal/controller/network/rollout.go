package network

import (
	"slices"
	"time"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// rollout returns the state for the status controller. While nothing is rendered, the previous objects count.
func (r *reconciled) rollout(last report.Rollout, namespace string) report.Rollout {
	out := report.Rollout{Generation: r.network.Generation, Components: last.Components, Wanted: last.Wanted, Related: last.Related, MTU: last.MTU}
	if !r.rendered {
		return out
	}
	out.Applied = r.applied || !r.managed && r.memory.record.State == applied.StateApplied
	out.Wanted, out.Components = nil, nil
	if out.Applied {
		out.MTU = r.result.MTU
	}
	for _, o := range r.result.Outputs {
		out.Components = append(out.Components, o.Name)
	}
	out.Related = []report.Reference{{Resource: "namespaces", Name: namespace}, {Group: operatorv1.GroupVersion.Group, Resource: "networks", Name: operatorv1.NetworkName}}
	for _, o := range r.desired {
		key := o.Key()
		if key.Group == "" && key.Kind == "Namespace" {
			out.Related = append(out.Related, report.Reference{Resource: "namespaces", Name: key.Name})
		}
		if manifest.IsWorkload(key.GroupKind()) {
			out.Wanted = append(out.Wanted, workload(key, o.Object.GetLabels()[manifest.LabelComponent], o.Policy.NonCritical))
		}
	}
	for _, w := range r.unrendered() {
		if !slices.Contains(out.Wanted, w) {
			out.Wanted = append(out.Wanted, w)
		}
	}
	return out
}

// unrendered returns the applied workloads of components that cannot be rendered now. They are still wanted, and their failures are
// reported.
func (r *reconciled) unrendered() []status.Workload {
	var found []status.Workload
	for _, o := range r.result.Outputs {
		if o.Err == nil && o.Output.Waiting == "" {
			continue
		}
		for _, e := range r.memory.inventory {
			if e.Component == o.Name && manifest.IsWorkload(e.Key.GroupKind()) {
				found = append(found, workload(e.Key, e.Component, false))
			}
		}
	}
	return found
}

func workload(key manifest.Key, component string, nonCritical bool) status.Workload {
	return status.Workload{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Component: component, NonCritical: nonCritical}
}

// requeueAfter returns the time until another reconcile may be needed without an event; 0 means never.
func (r *reconciled) requeueAfter() time.Duration {
	after := sooner(r.later, r.repairAfter)
	for _, o := range r.result.Outputs {
		after = sooner(after, o.Output.Again)
	}
	about := pipeline.RefusalsOf(r.result.Refused)
	about = append(about, r.result.Warnings...)
	if about.Has(pipeline.RuleUnserved) || r.result.Warnings.Has(pipeline.RuleServedTwice) {
		after = sooner(after, servicesCacheTime) // other components that serve Services are not watched
	}
	if d := r.cluster.Declared; d != nil && pipeline.RefusalsOf(r.failed) != nil {
		after = sooner(after, servicesCacheTime) // what declares the addresses of the cluster is not watched
	}
	return after
}
