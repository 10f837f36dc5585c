package crds_test

import "testing"

func TestNetworkConfigIsRefusedWithTheWayOut(t *testing.T) {
	checkRefusals(t, networkConfigBase, []refusal{
		{"nothing that is needed", `{spec: {clusterNetworks: null, serviceNetwork: null, defaultNetwork: null}}`, []string{
			`spec.clusterNetworks: Required value`, `spec.serviceNetwork: Required value`, `spec.defaultNetwork: Required value`,
			`<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation`}},
		{"no type", `{spec: {defaultNetwork: {type: null}}}`, []string{
			`spec.defaultNetwork.type: Invalid value: is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, or the name of a third-party network`}},
		{"an octet is missing", `{spec: {clusterNetworks: [{cidr: 10.128.0/14, hostSubnetLength: 9}], serviceNetwork: 172.30.0.0}}`, []string{
			`spec.clusterNetworks[0].cidr: Invalid value: "10.128.0/14": "10.128.0/14" is not a CIDR; write four octets and a prefix, e.g. 10.128.0.0/14`,
			`spec.serviceNetwork: Invalid value: "172.30.0.0": "172.30.0.0" is not a CIDR; add the length of its prefix after a slash`}},
		{"host bits", `{spec: {serviceNetwork: 172.30.1.0/16}}`, []string{
			`spec.serviceNetwork: Invalid value: "172.30.1.0/16": "172.30.1.0/16" has host bits set; did you mean 172.30.0.0/16?`}},
		{"the length of a prefix is not that of the host part", `{spec: {clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 23}]}}`, []string{
			`spec.clusterNetworks[0].hostSubnetLength: Invalid value: 23 must be between 2 and 18 for a /14: it is the number of host bits, so that 9 gives each node a /23`}},
		{"the blocks must not overlap", `{spec: {clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 9}, {cidr: 10.129.0.0/16, hostSubnetLength: 9}]}}`, []string{
			`spec: Invalid value: spec.clusterNetworks[1] 10.129.0.0/16 lies inside spec.clusterNetworks[0] 10.128.0.0/14; choose non-overlapping ranges`}},
		{"nor the pools for pods and services", `{spec: {serviceNetwork: 10.128.0.0/16}}`, []string{
			`spec: Invalid value: spec.serviceNetwork 10.128.0.0/16 lies inside spec.clusterNetworks[0] 10.128.0.0/14; choose non-overlapping ranges`}},
		{"one service network is one family", `{spec: {clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 9}, {cidr: "fd01::/48", hostSubnetLength: 64}]}}`, []string{
			`spec: Invalid value: spec.serviceNetwork is IPv4, spec.clusterNetworks[1] is IPv6; use one family. For both, write a Network.operator.openshift.io instead`}},
		{"settings are checked as they are in Network", `{spec: {defaultNetwork: {openshiftSDNConfig: {mode: X, mtu: 1, vxlanPort: 70000}, flannelConfig: {}}, kubeProxyConfig: {iptablesSyncPeriod: "5"}}}`, []string{
			`spec.defaultNetwork.openshiftSDNConfig.mode: Invalid value: "X" is not a mode; use Subnet, Multitenant or NetworkPolicy`,
			`spec.defaultNetwork.openshiftSDNConfig.mtu: Invalid value: 1 is out of range; it must be 576 to 65536`,
			`spec.defaultNetwork.openshiftSDNConfig.vxlanPort: Invalid value: 70000 is out of range; it must be 1 to 65535`,
			`spec.defaultNetwork.flannelConfig: Invalid value: is set but type is OpenShiftSDN; remove it, or set the type to Flannel`,
			`spec.kubeProxyConfig.iptablesSyncPeriod: Invalid value: "5" has no unit; write 5s`}},
	})
}
