package pipeline

import (
	"fmt"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// disruptive is a network whose MTU can be changed by who acknowledges it.
func disruptive() Pipeline {
	p := newPipeline()
	n := p.Registry.Providers[0].(fakeprovider.Network)
	n.Table = []provider.Field{{Path: "spec.defaultNetwork.flannelConfig.mtu", Class: provider.Rolling, Disruption: provider.Outage, Acknowledge: true, Reason: "pods stall"}}
	p.Registry.Providers[0] = n
	return p
}

func summary(changes []Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s: %v -> %v: %s %s/%s %s", c.Field, c.Old, c.New, c.Decision, c.Class, c.Disruption, c.Rule))
	}
	return lines
}

func TestEveryChangeHasAPreview(t *testing.T) {
	for _, tc := range []struct {
		why        string
		prev, next *operatorv1.NetworkSpec
		want       []string
	}{
		{"nothing", spec(), spec(), nil},
		{"a live field", spec(), spec(func(s *operatorv1.NetworkSpec) { s.OperatorLogLevel = "Debug" }),
			[]string{"spec.operatorLogLevel: Normal -> Debug: safe live/none "}},
		{"what a rule refuses", spec(), spec(podPools("10.128.0.0/14 24")),
			[]string{"spec.clusterNetwork[0].hostPrefix: 23 -> 24: refused forbidden/outage hostprefix-change"}},
		{"an exception of a field that is fixed", spec(typed(ovn)), spec(typed(ovn), podPools("10.128.0.0/13 23")),
			[]string{"spec.clusterNetwork[0].cidr: 10.128.0.0/14 -> 10.128.0.0/13: safe rolling/pods restart "}},
		{"what can be acknowledged", spec(mtu(1400)), spec(mtu(1300)),
			[]string{"spec.defaultNetwork.flannelConfig.mtu: 1400 -> 1300: needs-acknowledgement rolling/outage forbidden"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			res, _ := disruptive().Run(t.Context(), Input{Desired: tc.next, Applied: tc.prev, Cluster: cluster()}, Check)
			if d := cmp.Diff(tc.want, summary(res.Changes)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnAcknowledgementIsForOneChangeOfOneRevision(t *testing.T) {
	p := disruptive()
	in := Input{Applied: spec(mtu(1400)), Desired: spec(mtu(1300)), Revision: 7, Cluster: cluster()}
	res, err := p.Run(t.Context(), in, Check)
	hash := RefusalsOf(err).Acknowledge()
	if err == nil || hash == "" || hash != res.Acknowledgement {
		t.Fatalf("%v, acknowledged by %q", err, res.Acknowledgement)
	}
	in.Acknowledged = hash
	if res, err = p.Run(t.Context(), in, Check); err != nil || !res.Acknowledged {
		t.Errorf("the acknowledged change: %v", err)
	}
	for why, change := range map[string]func(*Input){
		"another value": func(in *Input) { in.Desired = spec(mtu(1200)) },
		"one more field": func(in *Input) {
			in.Desired = spec(mtu(1300), func(s *operatorv1.NetworkSpec) { s.LogLevel = "Debug" })
		},
		"from another value":     func(in *Input) { in.Applied = spec(mtu(1500)) },
		"once more, later":       func(in *Input) { in.Revision = 9 },
		"with a refused one":     func(in *Input) { in.Desired = spec(mtu(1300), services("172.31.0.0/16")) },
		"with nothing but a dot": func(in *Input) { in.Acknowledged = "." },
	} {
		other := in
		change(&other)
		if res, err := p.Run(t.Context(), other, Check); err == nil || res.Acknowledged {
			t.Errorf("%s: the acknowledgement counts for it, too", why)
		}
	}
}

func TestRefusedChangesHaveNoHash(t *testing.T) {
	_, err := disruptive().Run(t.Context(), Input{Applied: spec(mtu(1400)), Desired: spec(mtu(1300), services("172.31.0.0/16")), Cluster: cluster()}, Check)
	if hash := RefusalsOf(err).Acknowledge(); hash != "" {
		t.Errorf("%v can be acknowledged by %s", err, hash)
	}
}
