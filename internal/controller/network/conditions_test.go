package network

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/rollout"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/providers/flannel"
)

type noEvents struct{ reasons []string }

func (n *noEvents) Normal(_ *operatorv1.Network, reason, _ string) {
	n.reasons = append(n.reasons, reason)
}
func (n *noEvents) Warning(_ *operatorv1.Network, reason, _ string) {
	n.reasons = append(n.reasons, reason)
}

// given is a controller, and what one reconcile of it has come to.
type given struct {
	*Controller
	*reconciled
}

// report emits events as Reconcile does, and returns the findings.
func (g given) report() []status.Finding {
	found := g.findings(g.Controller, nil)
	g.recordEvents(g.network, found, g.kept)
	return found
}

func newGiven() (given, *noEvents) {
	reasons := &noEvents{}
	c := &Controller{Events: reasons, Log: slog.New(slog.DiscardHandler), reported: map[string]string{}}
	return given{c, &reconciled{gathered: gathered{network: &operatorv1.Network{}, managed: true}}}, reasons
}

func applyError(err error) error {
	return &apply.Error{Action: plan.Action{Verb: plan.Create, Key: manifest.Key{Kind: "ConfigMap", Namespace: "n", Name: "c"}}, Err: err}
}

func TestConditionsOfAReconcile(t *testing.T) {
	refused := &pipeline.Error{Stage: pipeline.Check, Err: pipeline.Refusals{{Field: "spec.a", Rule: "r1", Message: "cannot be changed"}, {Field: "spec.b", Rule: "r2", Message: "nor can this"}}}
	invalid := &pipeline.Error{Stage: pipeline.Validate, Err: pipeline.Refusals{{Field: "spec.a", Rule: "r3", Message: "is wrong"}}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "c", errors.New("no"))
	for _, row := range []struct {
		why  string
		set  func(given)
		want []string
	}{
		{"as expected", func(given) {}, nil},
		{"invalid, and nothing is in effect", func(p given) { p.failed = invalid }, []string{
			"Degraded InvalidOperatorConfig The operator configuration is invalid (spec.a: is wrong (r3)). Use 'kubectl edit network.operator.openshift.io cluster' to fix."}},
		{"refused, all of it, and what is in effect stays", func(p given) {
			p.result = pipeline.Result{Refused: refused, Outputs: []pipeline.ComponentOutput{{Name: "Flannel"}}}
		}, []string{
			"Degraded InvalidOperatorConfig Not applying unsafe configuration change: spec.a: cannot be changed (r1); spec.b: nor can this (r2). Use 'kubectl edit network.operator.openshift.io cluster' to undo the change. Until then the last applied configuration stays active."}},
		{"the nodes have not reported their MTU", func(p given) { p.failed = &pipeline.Error{Stage: pipeline.Fill, Err: pipeline.ErrHostMTUUnknown} }, []string{
			"Progressing WaitingForNodeMTU Waiting for the MTU of the nodes, which determines that of the network"}},
		{"one component fails, another waits, a third does not serve", func(p given) {
			err := &pipeline.Error{Stage: pipeline.Render, Component: "A", Err: errors.New("boom")}
			p.failed = err
			p.result.Outputs = []pipeline.ComponentOutput{{Name: "A", Err: err}, {Name: "B", Output: provider.Output{Waiting: "for etcd"}}, {Name: "C", Output: provider.Output{Unavailable: "not here"}}}
		}, []string{
			"Degraded RenderError Internal error while rendering operator configuration: Render of A: boom",
			"Progressing RenderProgressing Waiting to render manifests: for etcd", "Available NotServed not here"}},
		{"an error with its own reason", func(p given) {
			p.result.Outputs = []pipeline.ComponentOutput{{Name: "A", Output: provider.Output{Failures: []provider.Failure{{Reason: "SubnetsExhausted", Message: "node a has no block"}}}}}
		}, []string{"Degraded SubnetsExhausted node a has no block"}},
		{"a note of a component, which is no problem", func(p given) {
			p.result.Outputs = []pipeline.ComponentOutput{{Name: "A", Output: provider.Output{Notes: []provider.Note{{Reason: "NetworkPoliciesNotEnforced", Message: "not in mode a"}}}}}
		}, []string{"Noted NetworkPoliciesNotEnforced not in mode a"}},
		{"a forbidden request is not transient", func(p given) { p.applyErr = errors.Join(applyError(forbidden)) }, []string{
			`Degraded ApplyOperatorConfig Error while updating operator configuration: could not apply: create ConfigMap n/c: the operator is not allowed to: configmaps "c" is forbidden: no`}},
		{"what may pass is progress at first", func(p given) { p.applyErr = errors.Join(applyError(errors.New("boom"))) }, []string{
			"Degraded, meanwhile Progressing ApplyOperatorConfig Error while updating operator configuration: could not apply: create ConfigMap n/c: boom"}},
		{"pools in use do not fit the nodes", func(p given) {
			p.result.Warnings = pipeline.Refusals{{Field: "spec.clusterNetwork[0].cidr", Rule: "node-address", Message: "contains node a"}}
		}, []string{"Degraded PoolsInUse spec.clusterNetwork[0].cidr: contains node a (node-address)"}},
		{"a field without effect is named, and nothing is degraded", func(p given) {
			p.result.Ineffective = pipeline.Refusals{{Field: "spec.exportNetworkFlows", Rule: pipeline.RuleNoEffect, Message: "has no effect with network type Flannel; remove it"}}
		}, []string{"Noted FieldWithoutEffect spec.exportNetworkFlows: has no effect with network type Flannel; remove it (no-effect)"}},
		{"a corrupt record, of which nothing is known", func(p given) { p.corrupt = errors.New("x") }, []string{"Degraded CorruptAppliedConfig Nothing is changed: x"}},
		{"no component serves Services", func(p given) {
			p.result.Warnings = pipeline.Refusals{{Field: "spec.deployKubeProxy", Rule: pipeline.RuleUnserved, Message: "no component serves Services"}}
		}, []string{"Degraded ServicesUnserved spec.deployKubeProxy: no component serves Services (services-unserved)"}},
		{"two components serve Services", func(p given) {
			p.result.Warnings = pipeline.Refusals{{Field: "spec.deployKubeProxy", Rule: pipeline.RuleServedTwice, Message: "DaemonSet kube-system/kube-proxy serves Services too"}}
		}, []string{"Degraded ServicesServedTwice spec.deployKubeProxy: DaemonSet kube-system/kube-proxy serves Services too (services-served-twice)"}},
		{"Services have other addresses", func(p given) {
			p.result.Warnings = pipeline.Refusals{{Field: "spec.serviceNetwork[0]", Rule: pipeline.RuleServiceCIDR, Message: "is another one"}}
		}, []string{"Degraded ServiceNetworkWrong spec.serviceNetwork[0]: is another one (service-network-api-server)"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			p, _ := newGiven()
			row.set(p)
			var got []string
			for _, f := range p.report() {
				if f.Effect != "Upgradeable" {
					effect := string(f.Effect)
					if f.Meanwhile != "" {
						effect += ", meanwhile " + string(f.Meanwhile)
					}
					if f.Effect == status.Degraded && f.Immediate == (f.Meanwhile != "") {
						t.Errorf("%s: either it may pass, or it is reported at once", f.Reason)
					}
					got = append(got, fmt.Sprintf("%s %s %s", effect, f.Reason, f.Message))
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNotUpgradeableWhileTheNetworkChanges: an upgrade restarts the same nodes and programs, and one of the two would fail.
func TestNotUpgradeableWhileTheNetworkChanges(t *testing.T) {
	spec := func(m *osv1.NetworkMigration) *operatorv1.NetworkSpec {
		s := &operatorv1.NetworkSpec{}
		s.Migration = m
		return s
	}
	for _, row := range []struct {
		why, reason string
		set         func(given)
	}{
		{"at rest", "", func(p given) { p.result.Spec = spec(&osv1.NetworkMigration{}) }},
		{"the MTU of a third party's network is migrated", "NetworkMigrationInProgress", func(p given) { p.result.Spec = spec(&osv1.NetworkMigration{MTU: &osv1.MTUMigration{}}) }},
		{"a network that changes the MTU itself reports it itself, once", "", func(p given) {
			p.Pipeline.Registry.Providers = []provider.Provider{flannel.Flannel{}}
			p.result.Spec, p.result.Traits = spec(&osv1.NetworkMigration{MTU: &osv1.MTUMigration{}}), flannel.Flannel{}.Traits()
		}},
		{"refused", "InvalidOperatorConfig", func(p given) {
			p.result.Refused = &pipeline.Error{Stage: pipeline.Check, Err: pipeline.Refusals{{Field: "spec.a", Rule: "r", Message: "no"}}}
		}},
		{"paused", "Paused", func(p given) { p.network.Annotations = map[string]string{pipeline.PausedAnnotation: "true"} }},
		{"unmanaged", "Unmanaged", func(p given) { p.managed = false }},
		{"rolled back", "RolledBack", func(p given) { p.turn = rollout.Turn{Reason: rollout.ReasonRolledBack, Message: "m"} }},
	} {
		p, _ := newGiven()
		row.set(p)
		got := ""
		for _, f := range p.report() {
			if f.Effect == status.NotUpgradeable {
				got += f.Reason
			}
		}
		if got != row.reason {
			t.Errorf("%s: upgrades are blocked by %q, want %q", row.why, got, row.reason)
		}
	}
}

func TestARefusalIsReportedOnceAndATransientErrorNotAtAll(t *testing.T) {
	p, reasons := newGiven()
	p.applyErr = errors.New("boom")
	p.report()
	if len(reasons.reasons) != 0 {
		t.Errorf("events of what may pass: %v", reasons.reasons)
	}
	p.applyErr, p.corrupt = nil, errors.New("x")
	p.report()
	p.report()
	if diff := cmp.Diff([]string{"CorruptAppliedConfig"}, reasons.reasons); diff != "" {
		t.Error(diff)
	}
}

func TestManyErrorsAreCounted(t *testing.T) {
	var errs []error
	for i := range maxErrors + 2 {
		errs = append(errs, fmt.Errorf("e%d", i))
	}
	lines, _ := sentences(errors.Join(errs...))
	if len(lines) != maxErrors+1 || lines[maxErrors] != "and 2 more" {
		t.Errorf("lines: %v", lines)
	}
}
