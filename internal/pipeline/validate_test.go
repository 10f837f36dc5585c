package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/api/rules"
	"github.com/cluster-network-operator/cno/internal/facts"
)

const ovn = operatorv1.NetworkTypeOVNKubernetes

func refusalsFor(t *testing.T, in Input, last Stage) Refusals {
	t.Helper()
	_, err := newPipeline().Run(context.Background(), in, last)
	if err == nil {
		return nil
	}
	r := RefusalsOf(err)
	if r == nil {
		t.Fatalf("error %v holds no refusals", err)
	}
	return r
}

func TestValidSpecificationsAreAccepted(t *testing.T) {
	for why, s := range map[string]*operatorv1.NetworkSpec{
		"the smallest one":                        spec(),
		"dual stack":                              spec(typed(ovn), podPools("10.128.0.0/14 23", "fd01::/48 64"), services("172.30.0.0/16", "fd02::/112")),
		"IPv6 alone":                              spec(typed(ovn), podPools("fd01::/48 64"), services("fd02::/112")),
		"several pools":                           spec(typed(ovn), podPools("10.0.0.0/16 24", "10.1.0.0/16 24", "10.2.0.0/16 25")),
		"one node gets the whole pool":            spec(podPools("10.128.0.0/23 23")),
		"the longest hostPrefix":                  spec(podPools("10.128.0.0/14 30")),
		"a third party's network":                 spec(typed("Calico"), podPools("10.128.0.0/14")),
		"a third party's network may have blocks": spec(typed("Cilium"), podPools("10.128.0.0/14 24")),
		"unmanaged":                               spec(func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Unmanaged }),
		"an empty migration":                      spec(func(s *operatorv1.NetworkSpec) { s.Migration = &osv1.NetworkMigration{} }),
		"migration of the MTU":                    spec(typed(ovn), func(s *operatorv1.NetworkSpec) { s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{}} }),
	} {
		if r := refusalsFor(t, Input{Desired: s}, Validate); r != nil {
			t.Errorf("%s: %v", why, r)
		}
	}
}

func TestValidateReportsEachError(t *testing.T) {
	for _, tc := range []struct {
		why  string
		edit edit
		want string // "field rule" of the first refusal
		text string // its message
	}{
		{"an octet is missing", podPools("10.128.0/9 23"), "spec.clusterNetwork[0].cidr cidr-syntax", `"10.128.0/9" is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/9`},
		{"host bits in a pool", podPools("10.128.0.5/14 23"), "spec.clusterNetwork[0].cidr cidr-host-bits", `"10.128.0.5/14" has host bits set; did you mean 10.128.0.0/14?`},
		{"host bits in services", services("172.30.0.1/16"), "spec.serviceNetwork[0] cidr-host-bits", `"172.30.0.1/16" has host bits set; did you mean 172.30.0.0/16?`},
		{"addresses that are reserved", services("255.255.0.0/16"), "spec.serviceNetwork[0] cidr-special", `"255.255.0.0/16" lies in the reserved addresses, which cannot be routed; choose a private network, e.g. 10.128.0.0/14`},
		{"one address for all Services", services("10.96.0.0/32"), "spec.serviceNetwork[0] service-network-size", `"10.96.0.0/32" is too small for Services: the API server needs at least 8 addresses; use a /29 or a shorter prefix`},
		{"loopback", services("127.0.0.0/16"), "spec.serviceNetwork[0] cidr-special", `"127.0.0.0/16" lies in the loopback addresses, which cannot be routed; choose a private network, e.g. 10.128.0.0/14`},
		{"no services", services(), "spec.serviceNetwork service-network-required", "must have at least 1 entry, e.g. 172.30.0.0/16"},
		{"no pools", podPools(), "spec.clusterNetwork cluster-network-required", "must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23"},
		{"services inside pods", services("10.128.0.0/16"), "spec.clusterNetwork[0].cidr pool-overlap", "spec.serviceNetwork[0] 10.128.0.0/16 lies inside spec.clusterNetwork[0] 10.128.0.0/14; choose non-overlapping ranges"},
		{"two IPv4 services", services("172.30.0.0/16", "172.31.0.0/16"), "spec.serviceNetwork[1] service-network-families", `"172.31.0.0/16" is a second IPv4 network; there may be at most one IPv4 and one IPv6 network. Remove it`},
		{"three services", func(s *operatorv1.NetworkSpec) {
			typed(ovn)(s)
			services("172.30.0.0/16", "fd02::/112", "172.31.0.0/16")(s)
			podPools("10.128.0.0/14 23", "fd01::/48 64")(s)
		}, "spec.serviceNetwork service-network-families", "has 3 entries; there may be at most one IPv4 and one IPv6 network. Remove the others"},
		{"hostPrefix outside", podPools("10.128.0.0/14 8"), "spec.clusterNetwork[0].hostPrefix hostprefix-range", "8 must be between 14 and 30 for a /14"},
		{"hostPrefix leaves nothing", podPools("10.128.0.0/14 31"), "spec.clusterNetwork[0].hostPrefix hostprefix-range", "31 leaves no usable pod address per node; use 30 or less (23 gives 510)"},
		{"hostPrefix of IPv6", func(s *operatorv1.NetworkSpec) {
			typed(ovn)(s)
			podPools("fd01::/48 127")(s)
			services("fd02::/112")(s)
		}, "spec.clusterNetwork[0].hostPrefix hostprefix-range", "127 leaves no usable pod address per node; use 126 or less (64 is usual)"},
		{"no hostPrefix", podPools("10.128.0.0/14"), "spec.clusterNetwork[0].hostPrefix hostprefix-range", "is missing; network type Flannel gives each node a block of the range. Set its prefix length, e.g. 23 for 510 pods a node"},
		{"a hostPrefix that is not needed must still make sense", func(s *operatorv1.NetworkSpec) { typed("Calico")(s); podPools("10.128.0.0/14 8")(s) }, "spec.clusterNetwork[0].hostPrefix hostprefix-range", "8 must be between 14 and 30 for a /14"},
		{"a pool without room", podPools("10.128.0.0/31 31"), "spec.clusterNetwork[0].cidr hostprefix-range", `"10.128.0.0/31" is too small for a node: a pool needs at least two host bits; use /30 or shorter`},
		{"families differ", func(s *operatorv1.NetworkSpec) { typed(ovn)(s); services("172.30.0.0/16", "fd02::/112")(s) }, "spec.serviceNetwork family-symmetry", "spec.clusterNetwork is IPv4, spec.serviceNetwork is IPv4 and IPv6; both must have the same IP families. Add or remove a range of the family that only one has"},
		{"IPv6 where there is none", func(s *operatorv1.NetworkSpec) { podPools("fd01::/48 64")(s); services("fd02::/112")(s) }, "spec.clusterNetwork ipv6-unsupported", "has IPv6 networks, which network type Flannel does not support; use IPv4 networks"},
		{"too many pools for the type", podPools("10.0.0.0/16 24", "10.1.0.0/16 24"), "spec.clusterNetwork cluster-network-count", "has 2 entries; network type Flannel takes at most 1"},
		{"no type", typed(""), "spec.defaultNetwork.type type-required", "is required; write one of Flannel, OVNKubernetes, or the name of a third-party network"},
		{"a typing error", typed("OVNKubernets"), "spec.defaultNetwork.type unknown-type", `"OVNKubernets" is not known; did you mean OVNKubernetes? If you meant a third-party network, its name is too close to a built-in one; use another name`},
		{"not implemented yet", typed("OpenShiftSDN"), "spec.defaultNetwork.type not-built", "network type OpenShiftSDN is not implemented yet; use one of Flannel, OVNKubernetes"},
		{"the settings of another network", func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{} }, "spec.defaultNetwork.ovnKubernetesConfig foreign-settings", "is set but type is Flannel; remove it, or set the type to OVNKubernetes"},
		{"a provider's own rule", func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(10))}
		}, "spec.defaultNetwork.flannelConfig.mtu flannel-mtu-range", "10 " + rules.FlannelMTU.Detail()},
		{"a component's own rule without a name", func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "nowhere"} }, "spec.kubeProxyConfig.bindAddress invalid", `"nowhere" BindAddress must be a valid IP address`},
		{"a network cannot be removed", func(s *operatorv1.NetworkSpec) { s.ManagementState = osv1.Removed }, "spec.managementState management-state", `"Removed" is not allowed, since a cluster without a network cannot be repaired from inside; use Managed, or Unmanaged to leave everything as it is`},
		{"a management state that is none", func(s *operatorv1.NetworkSpec) { s.ManagementState = "Paused" }, "spec.managementState management-state", `"Paused" is not a management state; use Managed or Unmanaged`},
		{"a log level that is none", func(s *operatorv1.NetworkSpec) { s.OperatorLogLevel = "Loud" }, "spec.operatorLogLevel log-level", `"Loud" is not a log level; use Normal, Debug, Trace or TraceAll`},
		{"migration of the type", func(s *operatorv1.NetworkSpec) { s.Migration = &osv1.NetworkMigration{NetworkType: "Calico"} }, "spec.migration.networkType migration-type", "network type migration is not supported; remove the field"},
		{"mode of that migration", func(s *operatorv1.NetworkSpec) { s.Migration = &osv1.NetworkMigration{Mode: "Live"} }, "spec.migration.mode migration-type", "network type migration is not supported; remove the field"},
		{"migration of features", func(s *operatorv1.NetworkSpec) {
			s.Migration = &osv1.NetworkMigration{Features: &osv1.FeaturesMigration{}}
		}, "spec.migration.features migration-features", "network feature migration is not supported; remove the field"},
		{"migration of an MTU that is fixed", func(s *operatorv1.NetworkSpec) { s.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{}} }, "spec.migration.mtu migration-mtu", "MTU migration is not supported for network type Flannel; remove the field"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			r := refusalsFor(t, Input{Desired: spec(tc.edit)}, Validate)
			if len(r) == 0 {
				t.Fatal("accepted")
			}
			if got := summaries(r)[0]; got != tc.want {
				t.Errorf("got %s, want %s (all: %v)", got, tc.want, r)
			}
			if d := cmp.Diff(tc.text, r[0].Message); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestValidateReportsAllErrorsAtOnce(t *testing.T) {
	r := refusalsFor(t, Input{Desired: spec(services("172.30.0.1/16", "nonsense"), podPools("172.30.0.0/14 8", "10.0.0.0/16 31"), func(s *operatorv1.NetworkSpec) {
		s.LogLevel = "Loud"
		s.DefaultNetwork.KuryrConfig = &operatorv1.KuryrConfig{}
		s.DefaultNetwork.FlannelConfig = &operatorv1.FlannelConfig{MTU: new(uint32(1))}
	})}, Validate)
	want := []string{
		"spec.defaultNetwork.kuryrConfig foreign-settings",
		"spec.logLevel log-level",
		"spec.clusterNetwork cluster-network-count",
		"spec.serviceNetwork[0] cidr-host-bits",
		"spec.serviceNetwork[1] cidr-syntax",
		"spec.clusterNetwork[0].cidr cidr-host-bits",
		"spec.clusterNetwork[0].hostPrefix hostprefix-range",
		"spec.clusterNetwork[1].hostPrefix hostprefix-range",
		"spec.clusterNetwork[0].cidr pool-overlap",
		"spec.defaultNetwork.flannelConfig.mtu flannel-mtu-range",
	}
	if d := cmp.Diff(want, summaries(r)); d != "" {
		t.Error(d)
	}
}

func TestEveryPairOfPoolsIsCompared(t *testing.T) {
	r := refusalsFor(t, Input{Desired: spec(typed(ovn), services("10.1.0.0/16"), podPools("10.0.0.0/8 24", "10.1.0.0/24 25", "11.0.0.0/8 24", "10.2.0.0/16 24"))}, Validate)
	want := []string{
		"spec.clusterNetwork[0].cidr pool-overlap",
		"spec.clusterNetwork[1].cidr pool-overlap",
		"spec.clusterNetwork[1].cidr pool-overlap",
		"spec.clusterNetwork[3].cidr pool-overlap",
	}
	if d := cmp.Diff(want, summaries(r)); d != "" {
		t.Error(d)
	}
}

func TestLongListsAreTruncated(t *testing.T) {
	list := make([]string, 5000)
	for i := range list {
		list[i] = fmt.Sprintf("10.%d.%d.0/24 26", i/256, i%256)
	}
	r := refusalsFor(t, Input{Desired: spec(typed(ovn), podPools(list...))}, Validate)
	if d := cmp.Diff([]string{"spec.clusterNetwork cluster-network-count"}, summaries(r)); d != "" {
		t.Error(d)
	}
}

func TestPoolsAreComparedWithTheNodes(t *testing.T) {
	addr := netip.MustParseAddr
	f := facts.Cluster{NodeCount: 6, NodeAddresses: map[string][]netip.Addr{
		"b": {addr("10.128.1.5"), addr("fd00::5")}, "a": {addr("::ffff:10.128.1.4")}, "c": {addr("10.128.1.6")}, "d": {addr("10.128.1.7")}, "e": {addr("192.0.2.1")}, "z": nil,
	}}
	r := refusalsFor(t, Input{Desired: spec(podPools("10.128.0.0/22 24")), Cluster: f}, Validate)
	want := Refusals{
		{Field: "spec.clusterNetwork[0].cidr", New: "10.128.0.0/22", Rule: "node-address-in-pool", Message: "10.128.0.0/22 contains node a address 10.128.1.4, node b address 10.128.1.5, node c address 10.128.1.6 and 1 more; pods could not reach it; choose a range outside the machine network"},
		{Field: "spec.clusterNetwork", New: []any{map[string]any{"cidr": "10.128.0.0/22", "hostPrefix": 24.0}}, Rule: "pool-capacity", Message: "10.128.0.0/22 with hostPrefix 24 supports 4 nodes; the cluster has 6; use a shorter prefix for the pool, or a longer hostPrefix"},
	}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	// Refusing what is in use would block every other edit, and no one could do anything about it.
	in := Input{Desired: spec(podPools("10.128.0.0/22 24")), Applied: spec(podPools("10.128.0.0/22 24")), Cluster: f}
	in.Cluster.HostMTU = 1500
	if d := cmp.Diff(summaries(want), summaries(mustRun(t, in, Render).Warnings)); d != "" {
		t.Errorf("pools in use: %s", d)
	}
}

func TestCapacityIsThatOfAllPoolsOfAFamily(t *testing.T) {
	f := facts.Cluster{NodeCount: 6}
	dual := func(six string) *operatorv1.NetworkSpec {
		return spec(typed(ovn), podPools("10.0.0.0/22 24", "10.1.0.0/23 24", six), services("172.30.0.0/16", "fd02::/112"))
	}
	if r := refusalsFor(t, Input{Desired: dual("fd01::/61 64"), Cluster: f}, Validate); r != nil {
		t.Errorf("6 blocks for 6 nodes: %v", r)
	}
	r := refusalsFor(t, Input{Desired: dual("fd01::/62 64"), Cluster: f}, Validate)
	if len(r) != 1 || r[0].Rule != RulePoolCapacity || !strings.HasPrefix(r[0].Message, "fd01::/62 with hostPrefix 64 supports 4 nodes") {
		t.Errorf("4 IPv6 blocks for 6 nodes: %v", r)
	}
}

func TestRefusalsReadAsJSON(t *testing.T) {
	r := refusalsFor(t, Input{Desired: spec(podPools("10.128.0.5/14 23"))}, Validate)
	raw, err := json.Marshal(r)
	want := `[{"field":"spec.clusterNetwork[0].cidr","new":"10.128.0.5/14","rule":"cidr-host-bits","message":"\"10.128.0.5/14\" has host bits set; did you mean 10.128.0.0/14?"}]`
	if string(raw) != want || err != nil {
		t.Errorf("%s, %v", raw, err)
	}
	if want := `spec.clusterNetwork[0].cidr: "10.128.0.5/14" has host bits set; did you mean 10.128.0.0/14? (cidr-host-bits)`; r.Error() != want {
		t.Errorf("%s", r)
	}
	r = refusalsFor(t, Input{Desired: spec(func(s *operatorv1.NetworkSpec) {
		s.DefaultNetwork.OVNKubernetesConfig = &osv1.OVNKubernetesConfig{MTU: new(uint32(1300))}
	})}, Validate)
	if raw, err := json.Marshal(r[0].New); string(raw) != `{"mtu":1300}` || err != nil {
		t.Errorf("a value has %s, not only what was written: %v", raw, err)
	}
}

// TestASecondFamilyThatANetworkDoesNotHaveIsRefusedWithTheWayOut: on a network in use, too, and besides what else is wrong.
func TestASecondFamilyThatANetworkDoesNotHaveIsRefusedWithTheWayOut(t *testing.T) {
	dual := spec(podPools("10.128.0.0/14 23", "fd01::/48 64"), services("172.30.0.0/16", "fd02::/112"))
	for _, r := range refusalsFor(t, Input{Desired: dual, Applied: spec()}, Validate) {
		if r.Rule == RuleIPv6 && r.Field == "spec.clusterNetwork" && strings.Contains(r.Message, "assigns pods IPv4 addresses only; remove the IPv6 networks here and in spec.serviceNetwork") {
			return
		}
	}
	t.Error("it is not refused, or without the way out")
}

// TestAPoolDoesNotGrowOverANode: what is applied and overlaps is only warned of, what is new is refused.
func TestAPoolDoesNotGrowOverANode(t *testing.T) {
	cluster := facts.Cluster{NodeAddresses: map[string][]netip.Addr{"n": {netip.MustParseAddr("10.132.0.7")}}}
	in := Input{Desired: spec(podPools("10.128.0.0/12 23")), Applied: spec(podPools("10.128.0.0/14 23")), Cluster: cluster}
	r := refusalsFor(t, in, Validate)
	if len(r) != 1 || r[0].Rule != RuleNodeAddress || r[0].Field != "spec.clusterNetwork[0].cidr" ||
		!strings.Contains(r[0].Message, "10.128.0.0/12 contains node n address 10.132.0.7; pods could not reach it; choose a range outside the machine network") {
		t.Errorf("%+v", r)
	}
}

func TestAFamilyIsAddedOnlyWhereAllNodesHaveIt(t *testing.T) {
	addr := netip.MustParseAddr
	nodes := map[string][]netip.Addr{"a": {addr("192.0.2.1")}, "b": {addr("192.0.2.2"), addr("2001:db8::2")}, "new": nil}
	single, dual := spec(typed(ovn)), spec(typed(ovn), dualStack)
	for _, tc := range []struct {
		why           string
		applied, next *operatorv1.NetworkSpec
		nodes         map[string][]netip.Addr
		want          string
	}{
		{"one node lacks it", single, dual, nodes, "adds IPv6, and these nodes have no internal address of it: a; "},
		{"the other family", spec(typed(ovn), podPools("fd01::/48 64"), services("fd02::/112")), spec(typed(ovn), podPools("fd01::/48 64", "10.128.0.0/14 23"), services("fd02::/112", "172.30.0.0/16")),
			map[string][]netip.Addr{"a": {addr("2001:db8::1")}}, "adds IPv4, and these nodes have no internal address of it: a; "},
		{"all have it", single, dual, map[string][]netip.Addr{"b": nodes["b"], "new": nil}, ""},
		{"it is in use already", dual, dual, nodes, ""},
		{"it is removed", dual, single, nodes, ""},
		{"nothing is in use", nil, dual, nodes, ""},
	} {
		var message string
		for _, r := range refusalsFor(t, Input{Desired: tc.next, Applied: tc.applied, Cluster: facts.Cluster{HostMTU: 1500, NodeAddresses: tc.nodes}}, Validate) {
			if r.Rule == RuleNodeFamily {
				message = r.Field + ": " + r.Message
			}
		}
		if (tc.want == "") != (message == "") || tc.want != "" && !(strings.HasPrefix(message, "spec.serviceNetwork[1]: ") && strings.Contains(message, tc.want)) {
			t.Errorf("%s: %q", tc.why, message)
		}
	}
}
