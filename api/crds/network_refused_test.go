package crds_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refusal is an object that must be refused with exactly these complaints.
type refusal struct {
	why    string
	change string
	want   []string
}

func checkRefusals(t *testing.T, base string, rows []refusal) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			slices.Sort(row.want)
			if diff := cmp.Diff(row.want, complaints(t, object(t, base, row.change))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNetworkPoolsAreRefusedWithTheWayOut(t *testing.T) {
	checkRefusals(t, networkBase, []refusal{
		{"an octet is missing", `{spec: {clusterNetwork: [{cidr: 10.128.0/9, hostPrefix: 24}]}}`, []string{
			`spec.clusterNetwork[0].cidr: Invalid value: "10.128.0/9": "10.128.0/9" is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/9`}},
		{"the prefix is missing", `{spec: {clusterNetwork: [{cidr: 10.128.0.0, hostPrefix: 24}]}}`, []string{
			`spec.clusterNetwork[0].cidr: Invalid value: "10.128.0.0": "10.128.0.0" is not a CIDR; add the length of its prefix after a slash`}},
		{"leading zeros are octal to some programs", `{spec: {serviceNetwork: [010.96.0.0/16]}}`, []string{
			`spec.serviceNetwork[0]: Invalid value: "010.96.0.0/16": "010.96.0.0/16" is not a CIDR; write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48`}},
		{"it is not clear which network is meant", `{spec: {clusterNetwork: [{cidr: 10.128.0.5/14, hostPrefix: 23}]}}`, []string{
			`spec.clusterNetwork[0].cidr: Invalid value: "10.128.0.5/14": "10.128.0.5/14" has host bits set; did you mean 10.128.0.0/14?`}},
		{"host bits of a service network", `{spec: {serviceNetwork: [10.96.1.0/16]}}`, []string{
			`spec.serviceNetwork[0]: Invalid value: "10.96.1.0/16": "10.96.1.0/16" has host bits set; did you mean 10.96.0.0/16?`}},
		{"a node's block would be larger than the pool", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 8}]}}`, []string{
			`spec.clusterNetwork[0].hostPrefix: Invalid value: 8 must be between 14 and 30 for a /14`}},
		{"a node's block would have no address for a pod", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 31}]}}`, []string{
			`spec.clusterNetwork[0].hostPrefix: Invalid value: 31 leaves no usable pod address per node; use 30 or less (23 gives 510)`}},
		{"the same in IPv6", `{spec: {clusterNetwork: [{cidr: "fd01::/48", hostPrefix: 127}], serviceNetwork: ["fd02::/112"], defaultNetwork: {type: acme}}}`, []string{
			`spec.clusterNetwork[0].hostPrefix: Invalid value: 127 leaves no usable pod address per node; use 126 or less (64 is usual)`}},
		{"flannel cannot do without blocks", `{spec: {clusterNetwork: [{cidr: 10.244.0.0/16}]}}`, []string{
			`spec: Invalid value: spec.clusterNetwork[0].hostPrefix is missing; network type Flannel gives each node a block of the range. Set its prefix length, e.g. 23 for 510 pods a node`}},
		{"services inside pods", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}], serviceNetwork: [10.128.0.0/16]}}`, []string{
			`spec: Invalid value: spec.serviceNetwork[0] 10.128.0.0/16 lies inside spec.clusterNetwork[0] 10.128.0.0/14; choose non-overlapping ranges`}},
		{"pods inside services", `{spec: {serviceNetwork: [10.240.0.0/12]}}`, []string{
			`spec: Invalid value: spec.serviceNetwork[0] 10.240.0.0/12 contains spec.clusterNetwork[0] 10.244.0.0/16; choose non-overlapping ranges`}},
		{"pods twice, of which the second pair is named", `{spec: {clusterNetwork: [{cidr: 10.0.0.0/16, hostPrefix: 24}, {cidr: 10.4.0.0/16, hostPrefix: 24}, {cidr: 10.4.0.0/16, hostPrefix: 24}]}}`, []string{
			`spec: Invalid value: spec.clusterNetwork[2] 10.4.0.0/16 is the same as spec.clusterNetwork[1] 10.4.0.0/16; choose non-overlapping ranges`}},
		{"more than two service networks", `{spec: {serviceNetwork: [10.96.0.0/16, 10.97.0.0/16, 10.98.0.0/16]}}`, []string{
			`spec: Invalid value: spec.serviceNetwork[1] 10.97.0.0/16 is a second IPv4 network; there may be at most one IPv4 and one IPv6 network. Remove it`}},
		{"services have a family that pods lack", `{spec: {serviceNetwork: [10.96.0.0/16, "fd02::/112"]}}`, []string{
			`spec: Invalid value: spec.clusterNetwork is IPv4, spec.serviceNetwork is IPv4 and IPv6; both must have the same IP families. Add or remove a range of the family that only one has`}},
		{"everything is reported at once", `{metadata: {name: mine}, spec: {clusterNetwork: [{cidr: a}], serviceNetwork: [b], managementState: Removed}}`, []string{
			`<nil>: Invalid value: metadata.name must be "cluster" (there is one network per cluster)`,
			`spec.managementState: Invalid value: "Removed" is not allowed, since a cluster without a network cannot be repaired from inside; use Managed, or Unmanaged to leave everything as it is`,
			`spec: Invalid value: spec.clusterNetwork[0].hostPrefix is missing; network type Flannel gives each node a block of the range. Set its prefix length, e.g. 23 for 510 pods a node`,
			`spec.clusterNetwork[0].cidr: Invalid value: "a": "a" is not a CIDR; write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48`,
			`spec.serviceNetwork[0]: Invalid value: "b": "b" is not a CIDR; write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48`}},
	})
}

func TestNetworkSettingsAreRefusedWithTheWayOut(t *testing.T) {
	ovn := func(settings string) string {
		return `{spec: {defaultNetwork: {type: OVNKubernetes, ovnKubernetesConfig: ` + settings + `}}}`
	}
	sdn := func(settings string) string {
		return `{spec: {defaultNetwork: {type: OpenShiftSDN, openshiftSDNConfig: ` + settings + `}}}`
	}
	foreign := func(name, networkType string) string {
		of := map[string]string{"flannelConfig": "Flannel", "nuageConfig": "Nuage", "contivConfig": "Contiv", "ovnKubernetesConfig": "OVNKubernetes", "openshiftSDNConfig": "OpenShiftSDN", "kuryrConfig": "Kuryr"}
		return `spec.defaultNetwork.` + name + `: Invalid value: is set but type is ` + networkType + `; remove it, or set the type to ` + of[name]
	}
	checkRefusals(t, networkBase, []refusal{
		{"flannel's settings have no effect on another network", `{spec: {defaultNetwork: {type: OVNKubernetes, flannelConfig: {}}}}`, []string{foreign("flannelConfig", "OVNKubernetes")}},
		{"nor on one that a third party installs", `{spec: {defaultNetwork: {type: acme, flannelConfig: {}, nuageConfig: {}, contivConfig: {}}}}`, []string{
			foreign("flannelConfig", "acme"), foreign("nuageConfig", "acme"), foreign("contivConfig", "acme")}},
		{"no OpenShift cluster has settings of its types beside flannel", `{spec: {defaultNetwork: {ovnKubernetesConfig: {}, openshiftSDNConfig: {mode: Subnet}, kuryrConfig: {}}}}`, []string{
			foreign("ovnKubernetesConfig", "Flannel"), foreign("openshiftSDNConfig", "Flannel"), foreign("kuryrConfig", "Flannel")}},
		{"an MTU that no IPv4 host has to take", ovn(`{mtu: 10}`), []string{
			`spec.defaultNetwork.ovnKubernetesConfig.mtu: Invalid value: 10 is out of range; it must be 576 to 65535 (IPv6 needs at least 1280), or left out for that of the nodes, less the overhead`}},
		{"an MTU that no packet has", ovn(`{mtu: 70000}`), []string{
			`spec.defaultNetwork.ovnKubernetesConfig.mtu: Invalid value: 70000 is out of range; it must be 576 to 65535 (IPv6 needs at least 1280), or left out for that of the nodes, less the overhead`}},
		{"IPv6 does not work below 1280", `{spec: {clusterNetwork: [{cidr: "fd01::/48", hostPrefix: 64}], serviceNetwork: ["fd02::/112"], defaultNetwork: {type: OVNKubernetes, ovnKubernetesConfig: {mtu: 1279}}}}`, []string{
			`spec.defaultNetwork.ovnKubernetesConfig.mtu: Invalid value: 1279 is too small for IPv6; it must be at least 1280, since the cluster network has an IPv6 range`}},
		{"no such port", ovn(`{genevePort: 99999}`), []string{
			`spec.defaultNetwork.ovnKubernetesConfig.genevePort: Invalid value: 99999 is out of range; it must be 1 to 65535`}},
		{"a word that the component would not know", ovn(`{gatewayConfig: {ipForwarding: Sometimes}}`), []string{
			`spec.defaultNetwork.ovnKubernetesConfig.gatewayConfig.ipForwarding: Invalid value: "Sometimes" is not a mode of forwarding; use Global, or leave it out`}},
		{"routes are advertised by FRR", ovn(`{routeAdvertisements: Enabled}`), []string{
			`spec: Invalid value: spec.defaultNetwork.ovnKubernetesConfig.routeAdvertisements: Enabled needs FRR; add FRR to spec.additionalRoutingCapabilities.providers`}},
		{"no such mode", sdn(`{mode: Open}`), []string{
			`spec.defaultNetwork.openshiftSDNConfig.mode: Invalid value: "Open" is not a mode; use Subnet, Multitenant or NetworkPolicy`}},
		{"port and MTU of OpenShift SDN", sdn(`{mode: "", vxlanPort: 0, mtu: 0}`), []string{
			`spec.defaultNetwork.openshiftSDNConfig.vxlanPort: Invalid value: 0 is out of range; it must be 1 to 65535`,
			`spec.defaultNetwork.openshiftSDNConfig.mtu: Invalid value: 0 is out of range; it must be 576 to 65536`}},
		{"a period without a unit", `{spec: {kubeProxyConfig: {iptablesSyncPeriod: "30"}}}`, []string{
			`spec.kubeProxyConfig.iptablesSyncPeriod: Invalid value: "30" has no unit; write 30s`}},
		{"not a period", `{spec: {kubeProxyConfig: {iptablesSyncPeriod: often}}}`, []string{
			`spec.kubeProxyConfig.iptablesSyncPeriod: Invalid value: "often" is not a duration; write a number and a unit, e.g. 30s or 2m`}},
		{"a port is not part of the address", `{spec: {kubeProxyConfig: {bindAddress: "0.0.0.0:80"}}}`, []string{
			`spec.kubeProxyConfig.bindAddress: Invalid value: "0.0.0.0:80" is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::`}},
		{"IPv6 in an IPv4 cluster", `{spec: {clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}], kubeProxyConfig: {bindAddress: "::1"}}}`, []string{
			`spec.kubeProxyConfig.bindAddress: Invalid value: "::1" is an IPv6 address, and spec.clusterNetwork has no IPv6 network, so that kube-proxy would serve no Service; write an address of the other family, or leave it out for all addresses`}},
		{"two additional networks of one name would overwrite each other", `{spec: {additionalNetworks: [{name: a, type: Raw}, {name: a, type: Raw}]}}`, []string{
			`spec.additionalNetworks[1]: Duplicate value: {"name":"a"}`}},
		{"no such level", `{spec: {logLevel: Loud}}`, []string{
			`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`,
			`spec.logLevel: Unsupported value: "Loud": supported values: "", "Normal", "Debug", "Trace", "TraceAll"`}},
	})
}

func TestOnlyTheSingletonNameIsAccepted(t *testing.T) {
	checkRefusals(t, networkBase, []refusal{{"a second network would be ignored", `{metadata: {name: second}}`, []string{
		`<nil>: Invalid value: metadata.name must be "cluster" (there is one network per cluster)`}}})
	checkRefusals(t, networkConfigBase, []refusal{{"the name of the other kind", `{metadata: {name: cluster}}`, []string{
		`<nil>: Invalid value: metadata.name must be "default" (there is one network per cluster)`}}})
}
