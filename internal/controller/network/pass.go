package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/applied"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/rollout"
	"github.com/cluster-network-operator/cno/internal/status"
)

// pass is one look at everything.
type pass struct {
	*Controller
	network *operatorv1.Network
	// managed is false if nothing may be changed.
	managed bool

	memory  memory
	result  pipeline.Result
	desired []manifest.Object
	// rendered is true once desired is known.
	rendered bool
	// corrupt says why the record cannot be read. What is known to be applied is repaired all the same.
	corrupt error
	// failed is the error of the pipeline, applyErr that of carrying out the plan.
	failed, applyErr error
	kept             []plan.Action
	applied          bool

	// facts are those that was rendered with: of an older version, when the new one has to wait.
	facts facts.Cluster
	// turn says what is held or taken back.
	turn rollout.Turn
	// again is after how long another pass may do something although nothing happens.
	again time.Duration
}

// run looks at everything and does what is missing. The error asks for another pass; what users should know of
// it is in the findings.
func (p *pass) run(ctx context.Context) error {
	var err error
	begun := p.Now()
	if p.memory, err = p.records.load(ctx); err != nil {
		if !isCorrupt(err) {
			return err
		}
		p.corrupt = err
	}
	if p.corrupt != nil && p.memory.record.Baseline() == nil {
		return nil // only a change of the record helps, and is an event
	}
	cluster, err := p.cluster(ctx, without(&p.network.Spec))
	if err != nil {
		return err
	}
	if err := p.records.publish(ctx, cluster); err != nil {
		return err
	}
	p.Metrics.phase(phaseRecords, p.Now().Sub(begun))
	begun = p.Now()
	if err := p.render(ctx, cluster); err != nil {
		return err
	}
	p.Metrics.phase(phaseRender, p.Now().Sub(begun))
	if p.failed != nil && len(p.result.Outputs) == 0 {
		return p.retryable()
	}
	if p.desired, err = Desired(p.Pipeline.Registry, p.result, p.facts, p.usedUp()); err != nil {
		return err
	}
	p.rendered = true
	if !p.managed {
		p.applied = p.memory.record.State == applied.StateApplied
		return nil
	}
	begun = p.Now()
	p.applyErr = p.rollOut(ctx)
	p.Metrics.phase(phaseRollOut, p.Now().Sub(begun))
	if p.applyErr != nil {
		return p.applyErr
	}
	return p.retryable()
}

// Desired returns all objects that a result stands for: those of its components, and the guard of the network. known is
// what it was made with, usedUp the acknowledgement that was used up last.
func Desired(registry pipeline.Registry, res pipeline.Result, known facts.Cluster, usedUp string) ([]manifest.Object, error) {
	var objects []manifest.Object
	for _, o := range res.Outputs {
		objects = append(objects, o.Output.Objects...)
	}
	g, err := admission.Object(registry, admission.Applied{Spec: res.Spec, Traits: res.Traits, Cluster: known, Acknowledged: usedUp})
	return append(objects, g), err
}

// usedUp is the acknowledgement of the change that is made now, or was made last.
func (p *pass) usedUp() string {
	if p.result.Acknowledged {
		return p.result.Acknowledgement
	}
	return p.memory.history.UsedUp(p.memory.record)
}

func isCorrupt(err error) bool {
	_, is := errors.AsType[*applied.CorruptError](err)
	return is || errors.Is(err, plan.ErrInventory)
}

// retryable returns the error of the pipeline if another try may do better although nothing is changed. A wrong
// specification stays wrong, and the MTU of the nodes comes with an event.
func (p *pass) retryable() error {
	if p.failed == nil || pipeline.RefusalsOf(p.failed) != nil || errors.Is(p.failed, pipeline.ErrHostMTUUnknown) {
		return nil
	}
	return p.failed
}

// Cluster gathers the facts as they are now, but for those of Services, which are at most a minute old.
func (c *Controller) Cluster(ctx context.Context) (facts.Cluster, error) {
	return c.cluster(ctx, false)
}

// cluster is Cluster. A specification without kube-proxy is compared with what serves Services now.
func (c *Controller) cluster(ctx context.Context, without bool) (facts.Cluster, error) {
	known := c.Facts
	var err error
	if known.Platform, err = c.platform(ctx); err != nil {
		return facts.Cluster{}, err
	}
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return facts.Cluster{}, err
	}
	var cm corev1.ConfigMap
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: hostmtu.ConfigMap}, &cm)
	if client.IgnoreNotFound(err) != nil {
		return facts.Cluster{}, fmt.Errorf("read MTU of nodes: %w", err)
	}
	if known.MTUMigration, err = c.mtuMigration(ctx); err != nil {
		return facts.Cluster{}, err
	}
	if known.Services, err = c.services(ctx, without); err != nil {
		return facts.Cluster{}, err
	}
	return Facts(known, nodes, hostmtu.Settled(cm.Data)), nil
}

// mtuMigration reads how far the nodes have come with a change of the MTU.
func (c *Controller) mtuMigration(ctx context.Context) (facts.MTUMigration, error) {
	var cm corev1.ConfigMap
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: facts.MTUMigrationConfigMap}, &cm); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return facts.MTUMigration{}, fmt.Errorf("read progress of the MTU migration: %w", err)
		}
		return facts.MTUMigration{}, nil
	}
	return facts.DecodeMTUMigration(cm.Data), nil
}

// incomplete says why what was rendered is not everything, or nothing.
func (p *pass) incomplete() string {
	var why []string
	for _, o := range p.result.Outputs {
		switch {
		case o.Err != nil:
			why = append(why, fmt.Sprintf("%s could not be rendered", o.Name))
		case o.Output.Waiting != "":
			why = append(why, fmt.Sprintf("%s: %s", o.Name, o.Output.Waiting))
		}
	}
	return strings.Join(why, "; ")
}

// rollout is what the status loop needs to know. While nothing could be rendered, what was rendered before counts.
func (p *pass) rollout() report.Rollout {
	r := report.Rollout{Generation: p.network.Generation, Components: p.last.Components, Wanted: p.last.Wanted, Related: p.last.Related, MTU: p.last.MTU}
	if !p.rendered {
		return r
	}
	r.Applied, r.Wanted, r.Components = p.applied, nil, nil
	if p.applied {
		r.MTU = p.result.MTU
	}
	for _, o := range p.result.Outputs {
		r.Components = append(r.Components, o.Name)
	}
	r.Related = []report.Reference{{Resource: "namespaces", Name: p.Namespace}, {Group: operatorv1.GroupVersion.Group, Resource: "networks", Name: operatorv1.NetworkName}}
	for _, o := range p.desired {
		key := o.Key()
		if key.Group == "" && key.Kind == "Namespace" {
			r.Related = append(r.Related, report.Reference{Resource: "namespaces", Name: key.Name})
		}
		if manifest.IsWorkload(key.GroupKind()) {
			r.Wanted = append(r.Wanted, workload(key, o.Object.GetLabels()[manifest.LabelComponent], o.Policy.NonCritical))
		}
	}
	return p.unrendered(r)
}

// unrendered adds the workloads that a component has had, and that it cannot render now: they are wanted still, so
// that it is noticed when they are down.
func (p *pass) unrendered(r report.Rollout) report.Rollout {
	for _, o := range p.result.Outputs {
		if o.Err == nil && o.Output.Waiting == "" {
			continue
		}
		for _, e := range p.memory.inventory {
			w := workload(e.Key, e.Component, false)
			if e.Component == o.Name && manifest.IsWorkload(e.Key.GroupKind()) && !slices.Contains(r.Wanted, w) {
				r.Wanted = append(r.Wanted, w)
			}
		}
	}
	return r
}

func workload(key manifest.Key, component string, nonCritical bool) status.Workload {
	return status.Workload{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Component: component, NonCritical: nonCritical}
}

// operands returns everything that is wanted or was applied.
func (p *pass) operands() []Operand {
	var all []Operand
	for _, o := range p.desired {
		all = append(all, Operand{o.Key(), o.Object.GroupVersionKind().Version})
	}
	for _, e := range p.memory.inventory {
		all = append(all, Operand{e.Key, e.Version})
	}
	return all
}
