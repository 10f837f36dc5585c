package rules

// The sentences about the settings of networks but flannel, of kube-proxy and of workloads.
var (
	OpenShiftSDNMode      = New("openshiftsdn-mode", "is not a mode; use Subnet, Multitenant or NetworkPolicy")
	OpenShiftSDNMTU       = New("openshiftsdn-mtu-range", "is out of range; it must be 576 to 65536")
	OpenShiftSDNVXLANPort = New("openshiftsdn-vxlan-port-range", "is out of range; it must be 1 to 65535")

	OVNMTU                 = New("ovn-mtu-range", "is out of range; it must be 576 to 65535 (IPv6 needs at least 1280), or left out for that of the nodes, less the overhead")
	OVNMTUOfIPv6           = New("ovn-mtu-range", smallForIPv6)
	OVNNotBuilt            = New("ovn-not-built", "%s")
	OVNNetworkSize         = New("ovn-network-size", "is too small for OVN-Kubernetes, which needs at least a /%d; use a shorter prefix, e.g. %s")
	OVNHostPrefix          = New("ovn-host-prefix", "must be between %d and %d for a /%d: the first block of a pool is never assigned, and the router and the node have two addresses of each block")
	OVNIPsecMode           = New("ovn-ipsec-mode", "is not a mode of IPsec; use Disabled, External or Full")
	OVNIPsecFull           = New("ovn-ipsec-full", "has settings of mode Full, and mode is %s; remove full, or set mode to Full")
	OVNIPsecEncapsulation  = New("ovn-ipsec-encapsulation", "is neither Auto nor Always; use Auto, which wraps packets in UDP where an address is translated on the way")
	OVNSubnetAlias         = New("ovn-internal-subnet-alias", "%s will be deprecated soon, until then it must be same as %s %s; remove %s")
	OVNMasqueradeFamily    = New("ovn-internal-subnet-family", "is for %s, and spec.clusterNetwork has no %s network; leave it out")
	OVNSubnetFamily        = New("ovn-internal-subnet-family", "%s %s and ClusterNetwork must have matching IP families; %s")
	OVNSubnetSyntax        = New("ovn-internal-subnet-syntax", "%s is invalid: %q %s")
	OVNSubnetSpecial       = New("ovn-internal-subnet-special", "lies in the %s addresses, which cannot be routed; choose another network, or leave it out")
	OVNSubnetSize          = New("ovn-internal-subnet-size", "%s %s is not large enough for the maximum number of nodes which can be supported by ClusterNetwork: it has %d addresses, and spec.clusterNetwork has blocks for %d nodes; use a shorter prefix, or leave it out")
	OVNSubnetOverlap       = New("ovn-internal-subnet-overlap", "whole or subset of %s CIDR %s is already in use: CIDRs %s (%s) and %s overlap; %s")
	OVNFlowCollector       = New("ovn-flow-collectors", "is not the IPv4 address and UDP port of a collector; write for example 192.0.2.10:2055")
	OVNFlowFamily          = New("ovn-flow-collectors", "has collectors, whose addresses are IPv4, and spec.clusterNetwork has no IPv4 network, so nodes need no IPv4 address to reach them; remove it")
	OVNFlowCollectors      = New("ovn-flow-collectors", "has %d collectors; there may be at most %d. Remove the others")
	OVNGenevePort          = New("ovn-geneve-port-range", "is out of range; it must be 1 to 65535")
	OVNIPForwarding        = New("ovn-ip-forwarding", "is not a mode of forwarding; use Global, or leave it out")
	OVNAuditLimit          = New("ovn-policy-audit", "is out of range; it must be 1 or more, or left out")
	OVNAuditDestination    = New("ovn-policy-audit", "is not a destination of audit messages; use null, libc, udp:IP:PORT with an IP address, or unix:PATH with an absolute path in a directory")
	OVNAuditFacility       = New("ovn-policy-audit", "is not a facility of syslog; use local0 to local7, or the name of another one, such as daemon")
	OVNRouteAdvertisements = New("ovn-route-advertisements", "is neither Enabled nor Disabled; use Disabled")
	ovnAdvertisementsFRR   = New("ovn-route-advertisements", "spec.defaultNetwork.ovnKubernetesConfig.routeAdvertisements: Enabled needs FRR; add FRR to spec.additionalRoutingCapabilities.providers")

	KubeProxyNotAllowed   = New("kube-proxy-not-allowed", "network type %q does not allow specifying kube-proxy options; remove it")
	KubeProxyUnit         = New("kube-proxy-sync-period", "has no unit; write %ss")
	KubeProxyDuration     = New("kube-proxy-sync-period", "is not a duration; write a number and a unit, e.g. 30s or 2m")
	KubeProxyPositive     = New("kube-proxy-sync-period", "must be greater than 0s")
	KubeProxyBindAddress  = New("kube-proxy-bind-address", "is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::")
	KubeProxyNegative     = New("kube-proxy-sync-period", "is negative; write 0s or more")
	KubeProxyAddressForm  = New("kube-proxy-bind-address", "is not the canonical form of an IP address; write it as %s")
	KubeProxyBindFamily   = New("kube-proxy-bind-address", "is an %s address, and spec.clusterNetwork has no %s network, so that kube-proxy would serve no Service; write an address of the other family, or leave it out for all addresses")
	KubeProxyUnknownFlag  = New("kube-proxy-unknown-flag", "unknown kube-proxy %s flag; %s")
	KubeProxyOverride     = New("kube-proxy-override", "kube-proxy %s")
	KubeProxyValue        = New("kube-proxy-value", "%s")
	KubeProxyInterface    = New("kube-proxy-value", notInterface)
	KubeProxyNoValue      = New("kube-proxy-value-count", "has no value; write one, or remove the argument")
	KubeProxyManyValues   = New("kube-proxy-value-count", "are too many values; the flag takes one")
	KubeProxySetTwice     = New("kube-proxy-set-twice", "contradicts %s; set it once, there")
	KubeProxyPeriods      = New("kube-proxy-together", "is longer than the sync period, which is %s; write %s or less")
	KubeProxyLocalMode    = New("kube-proxy-together", "detect-local-mode %s needs the argument %s too")
	KubeProxyOnePerFamily = New("kube-proxy-together", "has several networks of one IP family; kube-proxy takes one network, or one of each family")
	KubeProxyPrimary      = New("kube-proxy-together", "has primary together with other values; write either primary or networks")
	KubeProxyPools        = New("kube-proxy-cluster-pools", "spec.clusterNetwork has several pools of one IP family, and kube-proxy takes one; configure how it recognizes pods, "+
		"for example detect-local-mode: [BridgeInterface] with pod-bridge-interface, or cluster-cidr with a network that contains all pools, or set spec.deployKubeProxy to false")
	KubeProxyClusterCIDR = New("kube-proxy-cluster-cidr", "does not contain %s of spec.clusterNetwork, whose pods kube-proxy would treat as clients outside the cluster; write a network that contains it, or remove the argument")
	KubeProxyMode        = New("kube-proxy-mode", "does not work with network type %s; use %s")

	WorkloadTwice         = New("workload-name", "is the name of spec.workloads[%d] already; merge the two")
	WorkloadUnknown       = New("workload-name", "is not a workload of the operator; use one of %s")
	WorkloadPlacement     = New("workload-placement", "must not be set for %s: the operator decides which nodes it runs on; remove it")
	WorkloadLabel         = New("workload-placement", "is not a label of a node; write a key and a value as kubectl get nodes --show-labels prints them")
	WorkloadResource      = New("workload-resources", "is not the name of a resource; use cpu, memory or ephemeral-storage")
	WorkloadBelowZero     = New("workload-resources", "is below zero; use 0 or more")
	WorkloadAboveLimit    = New("workload-resources", "is more than its limit, %s; lower it, or raise the limit")
	TolerationKey         = New("workload-tolerations", "is not the key of a taint; write it as kubectl describe node prints it")
	TolerationNeedsKey    = New("workload-tolerations", "needs a key; set key, or use operator Exists")
	TolerationValue       = New("workload-tolerations", "is not the value of a taint; write it as kubectl describe node prints it")
	TolerationExists      = New("workload-tolerations", "has no effect with operator Exists; remove it, or use operator Equal")
	TolerationOperator    = New("workload-tolerations", "is not an operator; use Exists or Equal")
	TolerationEffect      = New("workload-tolerations", "is not the effect of a taint; use NoSchedule, PreferNoSchedule or NoExecute, or leave it out")
	TolerationSeconds     = New("workload-tolerations", "needs the effect NoExecute; set that, or remove it")
	WorkloadPriorityClass = New("workload-priority-class", "cannot be the name of a PriorityClass; use lower-case letters, digits, dashes and dots")
	WorkloadEnvTwice      = New("workload-env", "is the name of env[%d] already; remove one")
	WorkloadEnvName       = New("workload-env", "cannot be the name of a variable; use letters, digits, underscores, dashes and dots, and begin without a digit")
	WorkloadEnvOwn        = New("workload-env", "is set by the operator; remove it")
	WorkloadDeployment    = New("workload-update-strategy", "must not be set for %s: it is a Deployment, whose pods are replaced one at a time; remove it")
	WorkloadUnavailable   = New("workload-update-strategy", "is not a number of nodes; use 1 or more, or 1%% to 100%%")
)

// The sentences about spec.additionalNetworks and spec.multiNetwork.
var (
	AdditionalWithoutMultus = New("additional-networks-without-multus", "additional networks cannot be specified without deploying Multus; remove them, or set spec.disableMultiNetwork to false")
	AdditionalName          = New("additional-network-name", "cannot be the name of an object; use lower-case letters, digits, dashes and dots, and begin and end with a letter or a digit")
	AdditionalNameRequired  = New("additional-network-name", "the additional network needs a name, by which pods ask for it")
	AdditionalNamespace     = New("additional-network-namespace", notNamespace+", or leave it out for the namespace default")
	AdditionalDuplicate     = New("additional-network-duplicate", "is already the name of %s; every additional network needs a different name")
	AdditionalType          = New("additional-network-type", "unknown or unsupported NetworkType: %s; use Raw or SimpleMacvlan")
	AdditionalOtherConfig   = New("additional-network-other-config", "has no effect on a network of type %s; remove it, or change the type")
	RawCNIConfigRequired    = New("raw-cni-config", "a network of type Raw needs its CNI configuration as JSON")
	RawCNIConfigSyntax      = New("raw-cni-config", "%s")
	RawCNIConfigObject      = New("raw-cni-config", `is not a JSON object; write {"cniVersion": ..., "type": ...}`)
	RawCNIConfigPlugin      = New("raw-cni-config", `names no plugin; add "type", or "plugins" with a list of plugins`)
	MacvlanMode             = New("simple-macvlan", "invalid Macvlan mode: %s; use Bridge, Private, VEPA or Passthru")
	MacvlanMaster           = New("simple-macvlan", notInterface)
	IPAMStaticUnused        = New("simple-macvlan-ipam", "has no effect with IPAM type DHCP; remove it, or use type Static")
	IPAMType                = New("simple-macvlan-ipam", "invalid IPAM type: %s; use DHCP or Static")
	IPAMDestination         = New("simple-macvlan-ipam", "invalid route destination: %s %s")
	IPAMAddress             = New("simple-macvlan-ipam", "invalid static address: %s; write an address and a prefix, for example 192.0.2.10/24")
	IPAMGateway             = New("simple-macvlan-ipam", "gateway %s is not inside %s")
	IPAMNoAddress           = New("simple-macvlan-ipam", "invalid %s: %s; write an IP address")
	GlobalNamespace         = New("global-namespaces", notNamespace)
	GlobalNamespaceTwice    = New("global-namespaces", "is already %s; remove one of them")
	AttachmentsLevel        = New("attachments", "is not a level; use %s or %s")
	RestrictedMaster        = New("restricted-masters", notInterface)
	RestrictedMasterTwice   = New("restricted-masters", "is already %s; remove one of them")
)

const (
	notNamespace = "cannot be the name of a namespace; use lower-case letters, digits and dashes, at most 63"
	notInterface = "is not the name of a network interface; use 1 to 15 characters, no spaces or slashes"
)

// smallForIPv6 is the sentence about an MTU that IPv6 does not work with.
const smallForIPv6 = "is too small for IPv6; it must be at least 1280, since the cluster network has an IPv6 range"

// placed are the workloads whose nodes the operator chooses, as a list of CEL. The networks and components declare them, and a test
// compares it with that.
const placed = `['flanneld', 'flannel-etcd', 'flannel-etcd-snapshots', 'flannel-metrics', 'kube-proxy', 'kube-proxy-metrics', 'multus', 'multus-metrics', 'ovn-ipsec', 'ovnkube', 'ovnkube-master',
	'ovnkube-metrics', 'ovs', 'sdn', 'sdn-controller', 'sdn-metrics', 'network-check-target', 'cni-sysctl-allowlist-ds']`

// settings are the rules of the settings of networks but flannel, of kube-proxy and of workloads.
var settings = []Rule{
	mtuOfIPv6(OVNMTUOfIPv6, "ovnKubernetesConfig", "NetworkConfig", "clusterNetworks"),
	bindFamily("NetworkConfig", "clusterNetworks"),
	{
		Sentence: OpenShiftSDNMode,
		At:       both("spec"), Field: ".defaultNetwork.openshiftSDNConfig.mode",
		Valid: `!has(self.defaultNetwork) || !has(self.defaultNetwork.openshiftSDNConfig)
			|| !has(self.defaultNetwork.openshiftSDNConfig.mode)
			|| self.defaultNetwork.openshiftSDNConfig.mode.lowerAscii() in ["", 'subnet', 'multitenant', 'networkpolicy']`,
		Text: "self.defaultNetwork.openshiftSDNConfig.mode",
	},
	{
		Sentence: TypeRequired,
		At:       []string{"NetworkConfig spec"}, Field: ".defaultNetwork.type",
		Valid: `has(self.defaultNetwork.type) && self.defaultNetwork.type != ""`,
		Args:  []string{"'Flannel, OVNKubernetes, OpenShiftSDN'"},
	},
	foreignSettings("openshiftSDNConfig", migratable, "OpenShiftSDN"),
	foreignSettings("ovnKubernetesConfig", migratable, "OVNKubernetes"),
	foreignSettings("flannelConfig", `self.type.lowerAscii() in ["", 'flannel']`, "Flannel"),
	foreignSettings("kuryrConfig", migratable, "Kuryr"),
	foreignSettings("nuageConfig", `self.type.lowerAscii() in ["", 'nuage']`, "Nuage"),
	foreignSettings("contivConfig", `self.type.lowerAscii() in ["", 'contiv']`, "Contiv"),
	{
		Sentence: OpenShiftSDNMTU,
		At:       both("spec.defaultNetwork.openshiftSDNConfig"), Field: ".mtu",
		Valid:  `!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65536)`,
		Number: "self.mtu",
	},
	{
		Sentence: OpenShiftSDNVXLANPort,
		At:       both("spec.defaultNetwork.openshiftSDNConfig"), Field: ".vxlanPort",
		Valid:  `!has(self.vxlanPort) || (self.vxlanPort >= 1 && self.vxlanPort <= 65535)`,
		Number: "self.vxlanPort",
	},
	{
		Sentence: OVNMTU,
		At:       both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".mtu",
		Valid:  `!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65535)`,
		Number: "self.mtu",
	},
	{
		Sentence: OVNGenevePort,
		At:       both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".genevePort",
		Valid:  `!has(self.genevePort) || (self.genevePort >= 1 && self.genevePort <= 65535)`,
		Number: "self.genevePort",
	},
	{
		Sentence: OVNIPForwarding,
		At:       both("spec.defaultNetwork.ovnKubernetesConfig"), Field: ".gatewayConfig.ipForwarding",
		Valid: `!has(self.gatewayConfig) || !has(self.gatewayConfig.ipForwarding) || self.gatewayConfig.ipForwarding in ["",
			'Restricted', 'Global']`,
		Text: "self.gatewayConfig.ipForwarding",
	},
	{
		Sentence: KubeProxyDuration,
		At:       both("spec.kubeProxyConfig"), Field: ".iptablesSyncPeriod",
		Valid: `!has(self.iptablesSyncPeriod) || self.iptablesSyncPeriod == ""
			|| self.iptablesSyncPeriod.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,
		Message: "self.iptablesSyncPeriod.matches('^[0-9]+$') ? " + KubeProxyUnit.CEL(`"%s" `, "self.iptablesSyncPeriod", "self.iptablesSyncPeriod") +
			" : " + KubeProxyDuration.CEL(`"%s" `, "self.iptablesSyncPeriod"),
	},
	{
		Sentence: KubeProxyBindAddress,
		At:       both("spec.kubeProxyConfig"), Field: ".bindAddress",
		Valid: `!has(self.bindAddress) || self.bindAddress == "" || isIP(self.bindAddress)`,
		Text:  "self.bindAddress",
	},
	mtuOfIPv6(OVNMTUOfIPv6, "ovnKubernetesConfig", "Network", "clusterNetwork"),
	bindFamily("Network", "clusterNetwork"),
	{
		Sentence: ovnAdvertisementsFRR,
		At:       []string{"Network spec"},
		Valid: `!has(self.defaultNetwork) || !has(self.defaultNetwork.ovnKubernetesConfig)
			|| !has(self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements)
			|| self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements != 'Enabled'
			|| (has(self.additionalRoutingCapabilities) && 'FRR' in self.additionalRoutingCapabilities.providers)`,
	},
	{
		Sentence: WorkloadPlacement,
		At:       []string{"Network spec.workloads[]"}, Field: ".nodeSelector",
		Valid: `!(self.name in ` + placed + `) || !has(self.nodeSelector) || self.nodeSelector.size() == 0`,
		Args:  []string{"self.name"},
	},
	{
		Sentence: WorkloadPlacement,
		At:       []string{"Network spec.workloads[]"}, Field: ".affinity",
		Valid: `!(self.name in ` + placed + `) || !has(self.affinity)`,
		Args:  []string{"self.name"},
	},
	{
		Sentence: WorkloadDeployment,
		At:       []string{"Network spec.workloads[]"}, Field: ".updateStrategy",
		Valid: `!(self.name in ['flannel-etcd', 'flannel-etcd-snapshots', 'network-check-source', 'egress-router-cni']) || !has(self.updateStrategy)`,
		Args:  []string{"self.name"},
	},
	{
		Sentence: WorkloadUnavailable,
		At:       []string{"Network spec.workloads[].updateStrategy.maxUnavailable"},
		Valid:    `type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')`,
		Text:     "string(self)",
	},
}
