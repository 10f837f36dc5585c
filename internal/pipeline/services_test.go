package pipeline

import (
	"net/netip"
	"strings"
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func withServices(s facts.Services) facts.Cluster {
	f := cluster()
	f.Services = s
	return f
}

func apiServer(cidrs ...string) facts.Services {
	var s facts.Services
	for _, c := range cidrs {
		s.CIDRs = append(s.CIDRs, netip.MustParsePrefix(c))
	}
	return s
}

func TestServiceNetworkIsComparedWithTheAPIServer(t *testing.T) {
	for _, tc := range []struct {
		why     string
		desired *operatorv1.NetworkSpec
		known   facts.Services
		want    string // of the message; empty if it is accepted
	}{
		{"nothing is known", spec(), facts.Services{}, ""},
		{"it is that of the API server", spec(), apiServer("172.30.0.0/16"), ""},
		{"it is another one", spec(), apiServer("10.96.0.0/16"), "is not the Service CIDR of the API server, which is 10.96.0.0/16"},
		{"it is larger", spec(), apiServer("172.30.0.0/20"), "which is 172.30.0.0/20"},
		{"the API server gets its second family from this very field", spec(typed(ovn), dualStack), apiServer("172.30.0.0/16"), ""},
		{"the second family is another one", spec(typed(ovn), dualStack), apiServer("172.30.0.0/16", "fd09::/112"), "which is fd09::/112"},
		{"without ServiceCIDRs, the address of the API server's Service is in it", spec(), facts.Services{Address: netip.MustParseAddr("172.30.0.1")}, ""},
		{"without ServiceCIDRs, it is elsewhere", spec(), facts.Services{Address: netip.MustParseAddr("10.96.0.1")}, "does not contain 10.96.0.1, the ClusterIP of the Service default/kubernetes"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r := refusalsFor(t, Input{Desired: tc.desired, Cluster: withServices(tc.known)}, Check)
			if tc.want == "" {
				if r != nil {
					t.Error(r)
				}
				return
			}
			if len(r) != 1 || r[0].Rule != RuleServiceCIDR || !strings.Contains(r[0].Message, tc.want) {
				t.Errorf("%v, want %s and %q", r, RuleServiceCIDR, tc.want)
			}
		})
	}
}

func TestMismatchedServiceNetworkInUseIsReportedAndCanBeCorrected(t *testing.T) {
	known := withServices(apiServer("10.96.0.0/16"))
	wrong, right := spec(), spec(services("10.96.0.0/16"))
	if res := mustRun(t, Input{Desired: wrong, Applied: wrong, Cluster: known}, Check); !res.Warnings.Has(RuleServiceCIDR) {
		t.Errorf("warnings %v", res.Warnings)
	}
	res := mustRun(t, Input{Desired: right, Applied: wrong, Cluster: known}, Check)
	if len(res.Changes) != 1 || res.Changes[0].Decision != Safe || !strings.Contains(res.Changes[0].Message, "Services keep their addresses") || len(res.Warnings) > 0 {
		t.Errorf("changes %+v, warnings %v", res.Changes, res.Warnings)
	}
	if r := refusalsFor(t, Input{Desired: wrong, Applied: right, Cluster: known}, Check); !r.Has(RuleServiceChange) {
		t.Errorf("a change to a wrong one: %v", r)
	}
	other := withServices(apiServer("172.30.0.0/16"))
	if r := refusalsFor(t, Input{Desired: spec(services("10.0.0.0/16")), Applied: right, Cluster: other}, Check); !r.Has(RuleServiceChange) || !strings.Contains(r[0].Message, "or write 172.30.0.0/16, which the API server has") {
		t.Errorf("a change from one wrong network to another: %v", r)
	}
}

// withFields is a component whose removal can be acknowledged.
type withFields struct{ fakeComponent }

func (withFields) Fields() []provider.Field {
	return []provider.Field{{Path: ServiceProxyPath, Class: provider.Rolling, Disruption: provider.ConnectionsReset, Acknowledge: true, Reason: "it is served"}}
}

func TestKubeProxyIsNotRemovedWhereNothingElseServesServices(t *testing.T) {
	off := func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(false) }
	in := Input{Desired: spec(off), Applied: spec(), Cluster: cluster(), Revision: 3}
	p := newPipeline()
	p.Registry.Components = []provider.Component{withFields{fakeComponent{name: "KubeProxy"}}}
	res, err := p.Run(t.Context(), in, Check)
	if r := RefusalsOf(err); len(r) != 1 || r[0].Rule != RuleUnserved || r[0].Field != ServiceProxyPath {
		t.Fatal(err)
	}
	in.Acknowledged = res.Acknowledgement
	if res, err = p.Run(t.Context(), in, Check); err != nil || !res.Acknowledged {
		t.Errorf("acknowledged: %v, %v", res.Acknowledged, err)
	}
	for why, in := range map[string]Input{
		"another component serves Services":  {Desired: spec(off), Applied: spec(), Cluster: withServices(facts.Services{Proxies: []string{"DaemonSet kube-system/kube-proxy"}})},
		"the network serves them itself":     {Desired: spec(typed(ovn), off), Applied: spec(typed(ovn)), Cluster: cluster()},
		"a third-party network may serve it": {Desired: spec(typed("Calico"), off), Applied: spec(typed("Calico")), Cluster: cluster()},
	} {
		if res := mustRun(t, in, Check); len(res.Warnings) > 0 {
			t.Errorf("%s: %v", why, res.Warnings)
		}
	}
	for why, applied := range map[string]*operatorv1.NetworkSpec{"on a fresh cluster": nil, "afterwards": spec(off)} {
		if res := mustRun(t, Input{Desired: spec(off), Applied: applied, Cluster: cluster()}, Check); !res.Warnings.Has(RuleUnserved) {
			t.Errorf("%s nothing is reported", why)
		}
	}
}

func TestASecondServiceProxyIsReported(t *testing.T) {
	other := withServices(facts.Services{Proxies: []string{"DaemonSet kube-system/kube-proxy"}})
	with := func(deploy bool) *operatorv1.NetworkSpec {
		return spec(func(s *operatorv1.NetworkSpec) { s.DeployKubeProxy = new(deploy) })
	}
	for _, row := range []struct {
		why    string
		spec   *operatorv1.NetworkSpec
		known  facts.Cluster
		warned bool
	}{
		{"both are deployed", with(true), other, true},
		{"the other one serves alone", with(false), other, false},
		{"there is no other one", with(true), withServices(facts.Services{}), false},
	} {
		if res := mustRun(t, Input{Desired: row.spec, Cluster: row.known}, Check); res.Warnings.Has(RuleServedTwice) != row.warned {
			t.Errorf("%s: warnings %v", row.why, res.Warnings)
		}
	}
}
