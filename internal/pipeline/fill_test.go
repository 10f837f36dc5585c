package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// defaults are those that every network has.
func defaults(proxy bool) edit {
	return func(s *operatorv1.NetworkSpec) {
		s.ManagementState, s.LogLevel, s.OperatorLogLevel = osv1.Managed, osv1.Normal, osv1.Normal
		s.DisableMultiNetwork, s.UseMultiNetworkPolicy, s.DeployKubeProxy = new(false), new(false), new(proxy)
		s.Rollout = &operatorv1.RolloutPolicy{ProgressDeadlineSeconds: new(int32(600))}
	}
}

func TestFillMakesEveryDefaultExplicit(t *testing.T) {
	for why, tc := range map[string]struct{ in, want *operatorv1.NetworkSpec }{
		"a network without a proxy of its own": {spec(), spec(defaults(true), mtu(1500), hostGW)},
		"a network with one":                   {spec(typed(ovn)), spec(typed(ovn), defaults(false))},
		"a third party's network":              {spec(typed("Calico")), spec(typed("Calico"), defaults(true))},
		"what is written stays": {
			spec(typed(ovn), func(s *operatorv1.NetworkSpec) {
				s.DeployKubeProxy, s.DisableMultiNetwork, s.LogLevel = new(true), new(true), osv1.Trace
			}),
			spec(typed(ovn), defaults(true), func(s *operatorv1.NetworkSpec) { s.DisableMultiNetwork, s.LogLevel = new(true), osv1.Trace }),
		},
	} {
		if d := cmp.Diff(tc.want, mustRun(t, Input{Desired: tc.in, Cluster: cluster()}, Fill).Spec); d != "" {
			t.Errorf("%s: %s", why, d)
		}
	}
}

func mtu(n uint32) edit {
	return func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: &n}
	}
}

func hostGW(s *operatorv1.NetworkSpec) {
	s.DefaultNetwork.FlannelConfig.Backend = operatorv1.FlannelBackendHostGW
}

func TestDetectedValuesAreKept(t *testing.T) {
	first := mustRun(t, Input{Desired: spec(), Cluster: cluster()}, Fill).Spec
	later := cluster()
	later.HostMTU = 9000
	again := mustRun(t, Input{Desired: spec(), Applied: first, Cluster: later}, Check).Spec
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("a node with another MTU changed the network: %s", d)
	}
}

func TestNothingIsFilledWithAnUnknownMTU(t *testing.T) {
	unknown := facts.Cluster{}
	if _, err := newPipeline().Run(context.Background(), Input{Desired: spec(), Cluster: unknown}, Fill); !errors.Is(err, ErrHostMTUUnknown) || StageOf(err) != Fill {
		t.Errorf("a fresh cluster: error %v", err)
	}
	mustRun(t, Input{Desired: spec(mtu(1400)), Cluster: unknown}, Fill)
	mustRun(t, Input{Desired: spec(), Applied: spec(mtu(1400)), Cluster: unknown}, Fill)
	mustRun(t, Input{Desired: spec(typed("Calico")), Cluster: unknown}, Fill)
}

func TestRecordsOfAnOlderOperatorAreFilledBeforeTheyAreCompared(t *testing.T) {
	// The older operator did not record all that there is now.
	res := mustRun(t, Input{Desired: spec(), Applied: spec(mtu(1400)), Cluster: cluster()}, Check)
	if d := cmp.Diff(spec(defaults(true), mtu(1400), hostGW), res.Previous); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(res.Previous, res.Spec); d != "" {
		t.Errorf("the upgrade alone changed the network: %s", d)
	}
}

// emptyFiller returns no specification.
type emptyFiller struct{ fakeComponent }

func (emptyFiller) Default(_, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	return nil
}

// vandal changes what it is only shown.
type vandal struct{ fakeComponent }

func (vandal) Default(spec, prev *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	if prev != nil {
		prev.ServiceNetwork[0] = "vandalised"
	}
	return spec
}

func (vandal) Fields() []provider.Field { return nil }

func (vandal) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

func TestInvalidComponentsCannotBreakFill(t *testing.T) {
	p := newPipeline()
	p.Registry.Components = append(p.Registry.Components, emptyFiller{})
	if _, err := p.Run(context.Background(), Input{Desired: spec(), Cluster: cluster()}, Fill); err == nil {
		t.Error("no specification is no error")
	}
	p.Registry.Components[1] = vandal{}
	res, err := p.Run(context.Background(), Input{Desired: spec(), Applied: spec(mtu(1500)), Cluster: cluster()}, Check)
	if err != nil || res.Previous.ServiceNetwork[0] != "172.30.0.0/16" {
		t.Errorf("%v, %v", res.Previous, err)
	}
}
