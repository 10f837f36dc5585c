package clusterconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"

	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// good returns a configuration without errors.
func good(change ...func(*configv1.NetworkSpec)) *configv1.NetworkSpec {
	s := &configv1.NetworkSpec{
		ClusterNetwork: []configv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"}, NetworkType: "Flannel",
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func services(list ...string) func(*configv1.NetworkSpec) {
	return func(s *configv1.NetworkSpec) { s.ServiceNetwork = list }
}

func pods(entries ...configv1.ClusterNetworkEntry) func(*configv1.NetworkSpec) {
	return func(s *configv1.NetworkSpec) { s.ClusterNetwork = entries }
}

func entry(cidr string, hostPrefix uint32) configv1.ClusterNetworkEntry {
	return configv1.ClusterNetworkEntry{CIDR: cidr, HostPrefix: hostPrefix}
}

func dual(s *configv1.NetworkSpec) {
	pods(entry("10.128.0.0/14", 23), entry("fd01::/48", 64))(s)
	services("172.30.0.0/16", "fd02::/112")(s)
}

func TestValidConfigurations(t *testing.T) {
	for _, row := range []struct {
		why  string
		spec *configv1.NetworkSpec
		env  environment
	}{
		{"the usual one", good(), environment{platform: "AWS"}},
		{"IPv6 alone", good(pods(entry("fd01::/48", 64)), services("fd02::/112")), environment{platform: "AWS"}},
		{"a network that gives nodes no blocks", good(pods(entry("10.128.0.0/14", 0))), environment{}},
		{"the smallest block", good(pods(entry("10.128.0.0/14", 30))), environment{}},
		{"a pool of one block", good(pods(entry("10.128.0.0/14", 14))), environment{}},
		{"two families on machines of one's own", good(dual), environment{platform: "BareMetal"}},
		{"two families without a platform", good(dual), environment{platform: "None"}},
		{"two families on a platform that is not known yet", good(dual), environment{}},
		{"two families on vSphere", good(dual), environment{platform: "VSphere"}},
		{"two families on OpenStack", good(dual), environment{platform: "OpenStack"}},
		{"two families on KubeVirt", good(dual), environment{platform: "KubeVirt"}},
		{"two families where a gate allows them", good(dual), environment{platform: "AWS", gates: []string{"AWSDualStackInstall"}}},
		{"machines elsewhere", good(), environment{machines: []string{"192.168.0.0/16", "no network"}}},
		{"ports and external addresses", good(func(s *configv1.NetworkSpec) {
			s.ServiceNodePortRange = "30000-32767"
			s.ExternalIP = &configv1.ExternalIPConfig{AutoAssignCIDRs: []string{"192.0.2.0/24"}, Policy: &configv1.ExternalIPPolicy{AllowedCIDRs: []string{"192.0.2.1/24"}}}
		}), environment{}},
	} {
		if errs := validate(row.spec, row.env); len(errs) > 0 {
			t.Errorf("%s: %v", row.why, errs)
		}
	}
}

func TestEveryRuleIsReportedAtItsField(t *testing.T) {
	for _, row := range []struct {
		why  string
		spec *configv1.NetworkSpec
		env  environment
		want []string
	}{
		{"services that are no network", good(services("172.30/16")), environment{}, []string{
			`spec.serviceNetwork[0]: "172.30/16" is not a CIDR; write four octets and a prefix, e.g. 172.30.0.0/16`}},
		{"services inside pods", good(services("10.129.0.0/16")), environment{}, []string{
			`spec.clusterNetwork[0].cidr: spec.clusterNetwork[0].cidr 10.128.0.0/14 contains spec.serviceNetwork[0] 10.129.0.0/16; choose non-overlapping ranges`}},
		{"no services", good(services()), environment{}, []string{
			"spec.serviceNetwork: must have at least 1 entry, e.g. 172.30.0.0/16"}},
		{"two of a family", good(services("172.30.0.0/16", "172.31.0.0/16")), environment{}, []string{
			`spec.serviceNetwork[1]: "172.31.0.0/16" is a second IPv4 network; there may be at most one IPv4 and one IPv6 network. Remove it`}},
		{"three", good(services("172.30.0.0/16", "172.31.0.0/16", "fd02::/112")), environment{platform: "None"}, []string{
			"spec.serviceNetwork: has 3 entries; there may be at most one IPv4 and one IPv6 network. Remove the others",
			"spec.serviceNetwork: spec.clusterNetwork is IPv4, spec.serviceNetwork is IPv4 and IPv6; both must have the same IP families. Add or remove a range of the family that only one has"}},
		{"pods that are no network", good(pods(entry("pods", 23))), environment{}, []string{
			`spec.clusterNetwork[0].cidr: "pods" is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/14`}},
		{"host bits, where it is not clear which network is meant", good(pods(entry("10.128.0.5/14", 23))), environment{}, []string{
			`spec.clusterNetwork[0].cidr: "10.128.0.5/14" has host bits set; did you mean 10.128.0.0/14?`}},
		{"a block larger than its pool", good(pods(entry("10.128.0.0/14", 13))), environment{}, []string{
			"spec.clusterNetwork[0].hostPrefix: 13 must be between 14 and 30 for a /14"}},
		{"a block without addresses", good(pods(entry("10.128.0.0/14", 31))), environment{}, []string{
			"spec.clusterNetwork[0].hostPrefix: 31 leaves no usable pod address per node; use 30 or less"}},
		{"the same in IPv6", good(pods(entry("fd01::/48", 127)), services("fd02::/112")), environment{}, []string{
			"spec.clusterNetwork[0].hostPrefix: 127 leaves no usable pod address per node; use 126 or less"}},
		{"a figure that no computer should shift by", good(pods(entry("10.128.0.0/14", 1<<32-1))), environment{}, []string{
			"spec.clusterNetwork[0].hostPrefix: 4294967295 leaves no usable pod address per node; use 30 or less"}},
		{"two pools that overlap", good(pods(entry("10.128.0.0/14", 23), entry("10.128.0.0/14", 23))), environment{}, []string{
			`spec.clusterNetwork[1].cidr: spec.clusterNetwork[1].cidr 10.128.0.0/14 is the same as spec.clusterNetwork[0].cidr 10.128.0.0/14; choose non-overlapping ranges`}},
		{"no pods", good(pods()), environment{}, []string{
			"spec.clusterNetwork: must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23"}},
		{"families that differ", good(services("fd02::/112")), environment{}, []string{
			"spec.serviceNetwork: spec.clusterNetwork is IPv4, spec.serviceNetwork is IPv6; both must have the same IP families. Add or remove a range of the family that only one has"}},
		{"no type", good(func(s *configv1.NetworkSpec) { s.NetworkType = " " }), environment{}, []string{
			"spec.networkType: is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, or the name of a third-party network"}},
		{"two families in a cloud", good(dual), environment{platform: "AWS", gates: []string{"GCPDualStackInstall"}}, []string{
			"spec.clusterNetwork: AWS is not one of the supported platforms for dual stack; use networks of one family"}},
		{"two families in a cloud without a gate", good(dual), environment{platform: "IBMCloud", gates: []string{"IBMCloudDualStackInstall"}}, []string{
			"spec.clusterNetwork: IBMCloud is not one of the supported platforms for dual stack; use networks of one family"}},
		{"pods where machines are", good(), environment{machines: []string{"10.128.1.0/24"}}, []string{
			"spec.clusterNetwork[0].cidr: CIDRs 10.128.1.0/24 and 10.128.0.0/14 overlap: 10.128.1.0/24 is a network of machines (spec.platformSpec of the Infrastructure); choose another range"}},
		{"ports that are no range", good(func(s *configv1.NetworkSpec) { s.ServiceNodePortRange = "32767-30000" }), environment{}, []string{
			`spec.serviceNodePortRange: "32767-30000" is not a range of ports; write the lowest and the highest, e.g. 30000-32767`}},
		{"an external address that is none", good(func(s *configv1.NetworkSpec) {
			s.ExternalIP = &configv1.ExternalIPConfig{Policy: &configv1.ExternalIPPolicy{RejectedCIDRs: []string{"192.0.2.0/24", "all"}}}
		}), environment{}, []string{
			`spec.externalIP.policy.rejectedCIDRs[1]: "all" is not a CIDR; write an address and a prefix, e.g. 192.0.2.0/24`}},
		{"an empty one, all at once", &configv1.NetworkSpec{}, environment{}, []string{
			"spec.serviceNetwork: must have at least 1 entry, e.g. 172.30.0.0/16",
			"spec.clusterNetwork: must have at least 1 entry, e.g. cidr 10.128.0.0/14 with hostPrefix 23",
			"spec.networkType: is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, or the name of a third-party network"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			var got []string
			for _, e := range validate(row.spec, row.env) {
				got = append(got, e.Field+": "+pipeline.Message(e))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALongListIsRefusedQuickly(t *testing.T) {
	many := make([]configv1.ClusterNetworkEntry, 100_000)
	for i := range many {
		many[i] = entry("10.128.0.0/14", 23)
	}
	errs := validate(good(pods(many...)), environment{})
	if len(errs) != 1 || errs[0].Field != "spec.clusterNetwork" {
		t.Errorf("%d errors", len(errs))
	}
}

func FuzzValidateNeverPanics(f *testing.F) {
	f.Add("10.128.0.0/14", uint32(23), "172.30.0.0/16,fd02::/112", "Flannel", "AWS", "30000-32767", "10.0.0.0/8")
	f.Add("::ffff:10.0.0.0/100", uint32(1<<31), "/,%", "", "", "-", "")
	f.Fuzz(func(t *testing.T, cidr string, hostPrefix uint32, service, kind, platform, ports, machines string) {
		spec := good(pods(entry(cidr, hostPrefix), entry("fd01::/48", 64)), services(strings.Split(service, ",")...))
		spec.NetworkType, spec.ServiceNodePortRange = kind, ports
		for _, e := range validate(spec, environment{platform: platform, machines: []string{machines}}) {
			if e.Detail == "" || !strings.HasPrefix(e.Field, "spec.") {
				t.Errorf("%v is incomplete", e)
			}
		}
	})
}
