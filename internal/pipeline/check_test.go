package pipeline

import (
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

func dualStack(s *operatorv1.NetworkSpec) {
	podPools("10.128.0.0/14 23", "fd01::/48 64")(s)
	services("172.30.0.0/16", "fd02::/112")(s)
}

func announced(s *operatorv1.NetworkSpec) {
	s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{}}
}

func TestSafeChangesAreSilent(t *testing.T) {
	for _, tc := range []struct {
		why        string
		prev, next *operatorv1.NetworkSpec
		platform   string
	}{
		{"nothing changed", spec(), spec(), ""},
		{"all that is safe", spec(), spec(func(s *operatorv1.NetworkSpec) {
			s.UseMultiNetworkPolicy, s.LogLevel, s.DisableNetworkDiagnostics = new(true), osv1.Debug, true
			s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "::", IptablesSyncPeriod: "1m"}
			s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{{Name: "a", Type: osv1.NetworkTypeRaw}}
		}), ""},
		{"host bits that were accepted once are corrected", spec(podPools("10.128.0.5/14 23"), services("172.30.0.1/16")), spec(), ""},
		{"an IPv6 network spelled in another way", spec(typed(ovn), podPools("FD01:0::/48 64"), services("fd02::/112")), spec(typed(ovn), podPools("fd01::/48 64"), services("FD02::/112")), ""},
		{"a pool grows", spec(typed(ovn)), spec(typed(ovn), podPools("10.128.0.0/13 23")), ""},
		{"pools behind the primary change places", spec(typed(ovn), podPools("10.0.0.0/16 24", "10.1.0.0/16 24", "10.2.0.0/16 24")), spec(typed(ovn), podPools("10.0.0.0/16 24", "10.2.0.0/16 24", "10.1.0.0/16 24")), ""},
		{"... and grow at the same time", spec(typed(ovn), podPools("10.0.0.0/16 24", "10.2.0.0/16 24", "10.4.0.0/16 24")), spec(typed(ovn), podPools("10.0.0.0/15 24", "10.4.0.0/15 24", "10.2.0.0/16 24")), ""},
		{"a second family is added", spec(typed(ovn)), spec(typed(ovn), dualStack), "BareMetal"},
		{"a second family is added on plain Kubernetes", spec(typed(ovn)), spec(typed(ovn), dualStack), "None"},
		{"a second family is removed, wherever", spec(typed(ovn), dualStack), spec(typed(ovn)), "AWS"},
		{"a second family for a third party's network", spec(typed("Calico")), spec(typed("Calico"), dualStack), ""},
		{"a pool of a third-party network grows", spec(typed("Calico"), podPools("10.128.0.0/14")), spec(typed("Calico"), podPools("10.128.0.0/13")), ""},
		{"... and those behind the primary change places", spec(typed("Calico"), podPools("10.0.0.0/16", "10.2.0.0/16", "10.4.0.0/16")), spec(typed("Calico"), podPools("10.0.0.0/15", "10.4.0.0/16", "10.2.0.0/15")), ""},
		{"the start of a migration", spec(typed(ovn)), spec(typed(ovn), announced), ""},
		{"nothing is compared on a fresh cluster", nil, spec(), ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			in := Input{Desired: tc.next, Applied: tc.prev, Cluster: cluster()}
			in.Cluster.Platform = tc.platform
			if r := refusalsFor(t, in, Check); r != nil {
				t.Error(r)
			}
		})
	}
}

func TestUnsafeChangesAreReported(t *testing.T) {
	for _, tc := range []struct {
		why        string
		prev, next *operatorv1.NetworkSpec
		platform   string
		want       Refusal
	}{
		{"the type", spec(typed("Calico")), spec(typed("Cilium")), "", Refusal{"spec.defaultNetwork.type", "Calico", "Cilium", "type-change",
			`"Calico" -> "Cilium": cannot change default network type: pods would lose their network; put the old value back, or force the change as docs/safety.md describes`, ""}},
		{"services", spec(), spec(services("172.31.0.0/16")), "", Refusal{"spec.serviceNetwork", []any{"172.30.0.0/16"}, []any{"172.31.0.0/16"}, "service-network-change",
			"services would keep their old addresses; put the old value back", ""}},
		{"a pool of a network whose pools are fixed", spec(), spec(podPools("10.128.0.0/13 23")), "", Refusal{"spec.clusterNetwork[0].cidr", "10.128.0.0/14", "10.128.0.0/13", "cluster-network-change",
			"network type is Flannel. changing clusterNetwork entries is only supported for network types whose pools can grow; put back 10.128.0.0/14", ""}},
		{"hostPrefix", spec(), spec(podPools("10.128.0.0/14 24")), "", Refusal{"spec.clusterNetwork[0].hostPrefix", 23.0, 24.0, "hostprefix-change",
			"23 -> 24: nodes hold blocks of the old length; put the old value back", ""}},
		{"a pool shrinks", spec(typed(ovn)), spec(typed(ovn), podPools("10.128.0.0/15 23")), "", Refusal{"spec.clusterNetwork[0].cidr", "10.128.0.0/14", "10.128.0.0/15", "cluster-network-shrink",
			"reducing IP range with a larger CIDR mask for clusterNetwork CIDR is unsupported: nodes may hold blocks outside it; put back 10.128.0.0/14", ""}},
		{"a pool moves", spec(typed(ovn)), spec(typed(ovn), podPools("10.0.0.0/14 23")), "", Refusal{"spec.clusterNetwork[0].cidr", "10.128.0.0/14", "10.0.0.0/14", "cluster-network-change",
			`"10.128.0.0/14" -> "10.0.0.0/14": pods would keep their old addresses; put the old value back, or, where the network's pools can grow, write a shorter prefix that begins at the same address`, ""}},
		{"a record that cannot be read is not taken for what is wanted", spec(typed(ovn), podPools("pods 23")), spec(typed(ovn)), "", Refusal{"spec.clusterNetwork[0].cidr", "pods", "10.128.0.0/14", "cluster-network-change",
			`pods would keep their old addresses; put the old value back, or, where the network's pools can grow, write a shorter prefix that begins at the same address`, ""}},
		{"a pool more", spec(typed(ovn)), spec(typed(ovn), podPools("10.128.0.0/14 23", "10.0.0.0/16 23")), "", Refusal{"spec.clusterNetwork", pools1(), pools2("10.0.0.0/16", 23), "cluster-network-change",
			"adding/removing clusterNetwork entries of the same type is not supported (1 are applied, 2 are wanted); put them back", ""}},
		{"the primary pool changes", spec(typed(ovn), podPools("10.128.0.0/14 23", "10.0.0.0/16 23")), spec(typed(ovn), podPools("10.0.0.0/16 23", "10.128.0.0/14 23")), "", Refusal{"spec.clusterNetwork", pools2("10.0.0.0/16", 23),
			[]any{map[string]any{"cidr": "10.0.0.0/16", "hostPrefix": 23.0}, map[string]any{"cidr": "10.128.0.0/14", "hostPrefix": 23.0}}, "cluster-network-order",
			"cannot change the order of clusterNetwork entries: the first one is the primary one; put 10.128.0.0/14 first and leave the others where they were", ""}},
		{"a provider's own rule without a name", spec(mtu(1400)), spec(mtu(1300)), "", Refusal{"spec.defaultNetwork.flannelConfig.mtu", 1400.0, 1300.0, "forbidden", "1400 -> 1300: cannot change the MTU", ""}},
		{"services during a migration", spec(typed(ovn), announced), spec(typed(ovn), announced, services("172.31.0.0/16")), "", Refusal{"spec.serviceNetwork", []any{"172.30.0.0/16"}, []any{"172.31.0.0/16"}, "change-during-migration",
			"nothing else may change during an MTU migration; put the old value back, and change it once spec.migration is removed and the migration has ended", ""}},
		{"a second family on a platform that cannot", spec(typed(ovn)), spec(typed(ovn), dualStack), "AWS", Refusal{"spec.serviceNetwork", []any{"172.30.0.0/16"}, []any{"172.30.0.0/16", "fd02::/112"}, "dual-stack-conversion",
			"AWS does not allow conversion to dual-stack cluster; remove the second network", ""}},
		{"the primary services change with the second family", spec(typed(ovn)), spec(typed(ovn), dualStack, services("172.31.0.0/16", "fd02::/112")), "", Refusal{"spec.serviceNetwork[0]", "172.30.0.0/16", "172.31.0.0/16", "dual-stack-conversion",
			"cannot change primary ServiceNetwork when migrating to/from dual-stack; put back 172.30.0.0/16", ""}},
		{"the primary pool changes with the second family", spec(typed(ovn)), spec(typed(ovn), dualStack, podPools("10.128.0.0/13 23", "fd01::/48 64")), "", Refusal{"spec.clusterNetwork[0]", map[string]any{"cidr": "10.128.0.0/14", "hostPrefix": 23.0}, map[string]any{"cidr": "10.128.0.0/13", "hostPrefix": 23.0}, "dual-stack-conversion",
			"cannot change primary ClusterNetwork when migrating to/from dual-stack; put back 10.128.0.0/14 with hostPrefix 23", ""}},
		{"a pool of the first family comes with the second", spec(typed(ovn)), spec(typed(ovn), dualStack, podPools("10.128.0.0/14 23", "10.0.0.0/16 23", "fd01::/48 64")), "", Refusal{"spec.clusterNetwork[1]", nil, map[string]any{"cidr": "10.0.0.0/16", "hostPrefix": 23.0}, "dual-stack-conversion",
			"cannot add additional ClusterNetwork values of original IP family when migrating to dual stack; leave 10.0.0.0/16 out", ""}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			in := Input{Desired: tc.next, Applied: tc.prev, Cluster: cluster()}
			in.Cluster.Platform = tc.platform
			if d := cmp.Diff(Refusals{tc.want}, refusalsFor(t, in, Check)); d != "" {
				t.Error(d)
			}
		})
	}
}

func pools1() any { return []any{map[string]any{"cidr": "10.128.0.0/14", "hostPrefix": 23.0}} }

func pools2(cidr string, hostPrefix float64) any {
	return append(pools1().([]any), map[string]any{"cidr": cidr, "hostPrefix": hostPrefix})
}

func TestPoolsStayFixedDuringAMigration(t *testing.T) {
	for why, next := range map[string]*operatorv1.NetworkSpec{
		"a pool grows":             spec(typed(ovn), announced, podPools("10.128.0.0/13 23")),
		"a pool moves":             spec(typed(ovn), announced, podPools("10.0.0.0/14 23")),
		"hostPrefix changes":       spec(typed(ovn), announced, podPools("10.128.0.0/14 24")),
		"a pool more":              spec(typed(ovn), announced, podPools("10.128.0.0/14 23", "10.0.0.0/16 23")),
		"the migration ends, too":  spec(typed(ovn), podPools("10.0.0.0/14 23")),
		"a second family is added": spec(typed(ovn), announced, dualStack),
	} {
		r := refusalsFor(t, Input{Desired: next, Applied: spec(typed(ovn), announced)}, Check)
		if !r.Has(RuleDuringMigration) {
			t.Errorf("%s: %v", why, r)
		}
	}
}

func TestAllUnsafeChangesAreReportedAtOnce(t *testing.T) {
	r := refusalsFor(t, Input{
		Applied: spec(typed(ovn), podPools("10.128.0.0/14 23", "10.0.0.0/16 23")),
		Desired: spec(podPools("10.128.0.0/15 24"), services("172.31.0.0/16")), Cluster: cluster(),
	}, Check)
	want := []string{"spec.defaultNetwork.type type-change", "spec.serviceNetwork service-network-change", "spec.clusterNetwork cluster-network-change"}
	if d := cmp.Diff(want, summaries(r)); d != "" {
		t.Error(d)
	}
	r = refusalsFor(t, Input{Applied: spec(mtu(1400)), Desired: spec(mtu(1300), podPools("10.128.0.0/15 24")), Cluster: cluster()}, Check)
	want = []string{"spec.clusterNetwork[0].hostPrefix hostprefix-change", "spec.clusterNetwork[0].cidr cluster-network-shrink", "spec.defaultNetwork.flannelConfig.mtu forbidden"}
	if d := cmp.Diff(want, summaries(r)); d != "" {
		t.Error(d)
	}
}

func TestFixedPoolsMayNotBeReordered(t *testing.T) {
	p := newPipeline()
	traits := ovnTraits()
	traits.GrowPools = false
	p.Registry.Providers[1] = fakeprovider.Network{With: traits}
	for rule, next := range map[string]*operatorv1.NetworkSpec{
		"spec.clusterNetwork cluster-network-order":          spec(typed(ovn), podPools("10.0.0.0/16 24", "10.4.0.0/16 24", "10.2.0.0/16 24")),
		"spec.clusterNetwork[1].cidr cluster-network-change": spec(typed(ovn), podPools("10.0.0.0/16 24", "10.2.0.0/15 24", "10.4.0.0/16 24")),
	} {
		_, err := p.Run(t.Context(), Input{Applied: spec(typed(ovn), podPools("10.0.0.0/16 24", "10.2.0.0/16 24", "10.4.0.0/16 24")), Desired: next}, Check)
		if d := cmp.Diff([]string{rule}, summaries(RefusalsOf(err))); d != "" {
			t.Error(d)
		}
	}
}

func TestPoolsOfAThirdPartyKeepTheCommonRules(t *testing.T) {
	applied := spec(typed("Calico"), podPools("10.0.0.0/16", "10.2.0.0/16", "10.4.0.0/16"))
	for rule, next := range map[string]*operatorv1.NetworkSpec{
		"spec.clusterNetwork cluster-network-order":          spec(typed("Calico"), podPools("10.2.0.0/16", "10.0.0.0/16", "10.4.0.0/16")),
		"spec.clusterNetwork[0].cidr cluster-network-shrink": spec(typed("Calico"), podPools("10.0.0.0/17", "10.2.0.0/16", "10.4.0.0/16")),
		"spec.clusterNetwork cluster-network-change":         spec(typed("Calico"), podPools("10.0.0.0/16", "10.2.0.0/16")),
		"spec.clusterNetwork[1].cidr node-address-in-pool":   spec(typed("Calico"), podPools("10.0.0.0/16", "10.2.0.0/15", "10.4.0.0/16")),
	} {
		nodes := facts.Cluster{NodeAddresses: map[string][]netip.Addr{"a": {netip.MustParseAddr("10.3.0.1")}}}
		r := refusalsFor(t, Input{Applied: applied, Desired: next, Cluster: nodes}, Check)
		if d := cmp.Diff([]string{rule}, summaries(r)); d != "" {
			t.Error(d)
		}
	}
}

func TestGrowthOfAThirdPartyPoolNamesWhoConfiguresIt(t *testing.T) {
	p := newPipeline()
	was, is := spec(typed("Calico"), podPools("10.0.0.0/16")), spec(typed("Calico"), podPools("10.0.0.0/15"))
	res, err := p.Run(t.Context(), Input{Applied: was, Desired: is}, Check)
	if err != nil || len(res.Changes) != 1 || res.Changes[0].Class != provider.Rolling ||
		!strings.Contains(res.Changes[0].Message, "give it the larger pool, too") {
		t.Errorf("%v %+v", err, res.Changes)
	}
}

func TestConversionNeedsANetworkThatCan(t *testing.T) {
	p := newPipeline()
	traits := ovnTraits()
	traits.ConvertDualStack = false
	p.Registry.Providers[1] = fakeprovider.Network{With: traits}
	_, err := p.Run(t.Context(), Input{Applied: spec(typed(ovn)), Desired: spec(typed(ovn), dualStack)}, Check)
	if d := cmp.Diff([]string{"spec.serviceNetwork dual-stack-conversion"}, summaries(RefusalsOf(err))); d != "" {
		t.Error(d)
	}
}
