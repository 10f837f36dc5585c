package rules

// placed are the workloads whose nodes the operator chooses, as a list of CEL. The networks and components say which they are, and a test
// compares it with that.
const placed = `['flanneld', 'flannel-etcd', 'flannel-etcd-snapshots', 'flannel-metrics', 'kube-proxy', 'kube-proxy-metrics', 'multus', 'ovnkube', 'ovnkube-master',
	'ovnkube-metrics', 'ovs', 'sdn', 'sdn-controller', 'sdn-metrics', 'network-check-target', 'cni-sysctl-allowlist-ds']`

// settings are the rules of the settings of networks but flannel, of kube-proxy and of workloads.
var settings = []Rule{
	mtuOfIPv6("ovn-mtu-range", "ovnKubernetesConfig", "NetworkConfig", "clusterNetworks"),
	{
		ID: "openshiftsdn-mode", At: both("spec"), Field: ".defaultNetwork.openshiftSDNConfig.mode",
		Valid: `!has(self.defaultNetwork) || !has(self.defaultNetwork.openshiftSDNConfig)
			|| !has(self.defaultNetwork.openshiftSDNConfig.mode)
			|| self.defaultNetwork.openshiftSDNConfig.mode.lowerAscii() in ["", 'subnet', 'multitenant', 'networkpolicy']`,
		Text: "self.defaultNetwork.openshiftSDNConfig.mode", Sentence: "is not a mode; use Subnet, Multitenant or NetworkPolicy",
	},
	{
		ID: "type-required", At: []string{"NetworkConfig spec"}, Field: ".defaultNetwork.type",
		Valid:    `has(self.defaultNetwork.type) && self.defaultNetwork.type != ""`,
		Sentence: "is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, Kuryr, Nuage, Contiv, or the name of a third-party network",
	},
	foreignSettings("openshiftSDNConfig", migratable),
	foreignSettings("ovnKubernetesConfig", migratable),
	foreignSettings("flannelConfig", `self.type.lowerAscii() in ["", 'flannel']`),
	foreignSettings("kuryrConfig", migratable),
	foreignSettings("nuageConfig", `self.type.lowerAscii() in ["", 'nuage']`),
	foreignSettings("contivConfig", `self.type.lowerAscii() in ["", 'contiv']`),
	{
		ID: "openshiftsdn-mtu-range", At: both("spec.defaultNetwork.openshiftSDNConfig"), Field: ".mtu",
		Valid:  `!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65536)`,
		Number: "self.mtu", Sentence: "is out of range; it must be 576 to 65536",
	},
	{
		ID: "openshiftsdn-vxlan-port-range", At: both("spec.defaultNetwork.openshiftSDNConfig"), Field: ".vxlanPort",
		Valid:  `!has(self.vxlanPort) || (self.vxlanPort >= 1 && self.vxlanPort <= 65535)`,
		Number: "self.vxlanPort", Sentence: "is out of range; it must be 1 to 65535",
	},
	{
		ID: "ovn-mtu-range", At: both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".mtu",
		Valid:  `!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65536)`,
		Number: "self.mtu", Sentence: "is out of range; it must be 576 to 65536 (IPv6 needs at least 1280)",
	},
	{
		ID: "ovn-geneve-port-range", At: both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".genevePort",
		Valid:  `!has(self.genevePort) || (self.genevePort >= 1 && self.genevePort <= 65535)`,
		Number: "self.genevePort", Sentence: "is out of range; it must be 1 to 65535",
	},
	{
		ID: "ovn-ip-forwarding", At: both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".gatewayConfig.ipForwarding",
		Valid: `!has(self.gatewayConfig) || !has(self.gatewayConfig.ipForwarding) || self.gatewayConfig.ipForwarding in ["",
			'Restricted', 'Global']`,
		Text: "self.gatewayConfig.ipForwarding", Sentence: "is not a mode of forwarding; use Restricted or Global",
	},
	{
		ID: "kube-proxy-sync-period", At: both("spec.kubeProxyConfig"), Field: ".iptablesSyncPeriod",
		Valid: `!has(self.iptablesSyncPeriod) || self.iptablesSyncPeriod == ""
			|| self.iptablesSyncPeriod.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,
		Message: `self.iptablesSyncPeriod.matches('^[0-9]+$') ? '"%s" has no unit; write %ss'.format([self.iptablesSyncPeriod,
			self.iptablesSyncPeriod])
			: '"%s" is not a duration; write a number and a unit, e.g. 30s or 2m'.format([self.iptablesSyncPeriod])`,
	},
	{
		ID: "kube-proxy-bind-address", At: both("spec.kubeProxyConfig"), Field: ".bindAddress",
		Valid: `!has(self.bindAddress) || self.bindAddress == "" || isIP(self.bindAddress)`,
		Text:  "self.bindAddress", Sentence: "is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::",
	},
	mtuOfIPv6("ovn-mtu-range", "ovnKubernetesConfig", "Network", "clusterNetwork"),
	{
		ID: "ovn-route-advertisements", At: []string{"Network spec"},
		Valid: `!has(self.defaultNetwork) || !has(self.defaultNetwork.ovnKubernetesConfig)
			|| !has(self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements)
			|| self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements != 'Enabled'
			|| (has(self.additionalRoutingCapabilities) && 'FRR' in self.additionalRoutingCapabilities.providers)`,
		Sentence: "spec.defaultNetwork.ovnKubernetesConfig.routeAdvertisements: Enabled needs FRR; add FRR to spec.additionalRoutingCapabilities.providers",
	},
	{
		ID: "workload-placement", At: []string{"Network spec.workloads[]"}, Field: ".nodeSelector",
		Valid:    `!(self.name in ` + placed + `) || !has(self.nodeSelector) || self.nodeSelector.size() == 0`,
		Sentence: "must not be set for %s: the operator decides which nodes it runs on; remove it",
		Args:     []string{"self.name"},
	},
	{
		ID: "workload-placement", At: []string{"Network spec.workloads[]"}, Field: ".affinity",
		Valid:    `!(self.name in ` + placed + `) || !has(self.affinity)`,
		Sentence: "must not be set for %s: the operator decides which nodes it runs on; remove it",
		Args:     []string{"self.name"},
	},
	{
		ID: "workload-update-strategy", At: []string{"Network spec.workloads[]"}, Field: ".updateStrategy",
		Valid:    `!(self.name in ['flannel-etcd', 'flannel-etcd-snapshots', 'network-check-source', 'egress-router-cni']) || !has(self.updateStrategy)`,
		Sentence: "must not be set for %s: it is a Deployment, whose pods are replaced one at a time; remove it",
		Args:     []string{"self.name"},
	},
	{
		ID: "workload-update-strategy", At: []string{"Network spec.workloads[].updateStrategy.maxUnavailable"},
		Valid:    `type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')`,
		Sentence: "%s is not a number of nodes; use 1 or more, or 1%% to 100%%",
		Args:     []string{"string(self)"},
	},
}
