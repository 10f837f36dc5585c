package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NetworkName is the name of the only Network object that the operator reads.
const NetworkName = "cluster"

// Network is the network of the cluster: the address pools, the provider of the pod network and its
// settings, and further components. There is one, named "cluster".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networks,scope=Cluster,shortName=netop,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.defaultNetwork.type`,description="The provider of the pod network"
// +kubebuilder:printcolumn:name=Pods,type=string,JSONPath=`.spec.clusterNetwork[*].cidr`,description="The first address pool for pods"
// +kubebuilder:printcolumn:name=Services,type=string,JSONPath=`.spec.serviceNetwork[*]`,description="The first address pool for services"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the network works"
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,description="Whether a change is being rolled out"
// +kubebuilder:printcolumn:name=Degraded,type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether something needs attention"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'cluster'",message="metadata.name must be \"cluster\" (there is one network per cluster)"
type Network struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "cluster".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired network.
	// +optional
	Spec NetworkSpec `json:"spec,omitempty"`
	// status is the observed state of the network.
	// +optional
	Status NetworkStatus `json:"status,omitempty"`
}

// NetworkList is a list of Network objects.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Network `json:"items"`
}

// NetworkSpec is the desired network. The two address pools and the type of the default network are required;
// everything else has a default, which the operator records when it applies it. Where the cluster has an object
// Network.config.openshift.io, its values replace these three, and they may be omitted.
//
// +kubebuilder:validation:XValidation:rule="!has(self.managementState) || self.managementState != 'Removed'",fieldPath=".managementState",message="\"Removed\" is not allowed, since a cluster without a network cannot be repaired from inside; use Managed, or Unmanaged to leave everything as it is"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !self.clusterNetwork.exists(i, a, self.clusterNetwork.exists(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))))",messageExpression="self.clusterNetwork.transformList(i, a, self.clusterNetwork.exists(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))), self.clusterNetwork.transformList(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr)), 'spec.clusterNetwork[%d] %s %s spec.clusterNetwork[%d] %s; choose non-overlapping ranges'.format([j, b.cidr, (a.cidr == b.cidr ? 'is the same as' : cidr(a.cidr).containsCIDR(b.cidr) ? 'lies inside' : 'contains'), i, a.cidr]))[0])[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !has(self.serviceNetwork) || !self.clusterNetwork.exists(a, self.serviceNetwork.exists(b, isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))))",messageExpression="self.clusterNetwork.transformList(i, a, self.serviceNetwork.exists(b, isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr))), self.serviceNetwork.transformList(j, b, isCIDR(a.cidr) && isCIDR(b) && (cidr(a.cidr).containsCIDR(b) || cidr(b).containsCIDR(a.cidr)), 'spec.serviceNetwork[%d] %s %s spec.clusterNetwork[%d] %s; choose non-overlapping ranges'.format([j, b, (a.cidr == b ? 'is the same as' : cidr(a.cidr).containsCIDR(b) ? 'lies inside' : 'contains'), i, a.cidr]))[0])[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceNetwork) || !self.serviceNetwork.exists(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a) && isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family()))",messageExpression="self.serviceNetwork.transformList(i, a, self.serviceNetwork.exists(j, b, i < j && isCIDR(a) && isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family()), self.serviceNetwork.transformList(j, b, i < j && isCIDR(a) && isCIDR(b) && cidr(a).ip().family() == cidr(b).ip().family(), 'spec.serviceNetwork[%d] %s is a second IPv%d network; there may be at most one IPv4 and one IPv6 network. Remove it'.format([j, b, cidr(b).ip().family()]))[0])[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !has(self.serviceNetwork) || self.clusterNetwork.size() == 0 || self.serviceNetwork.size() == 0 || !self.clusterNetwork.all(c, isCIDR(c.cidr)) || !self.serviceNetwork.all(s, isCIDR(s)) || [4, 6].all(f, self.clusterNetwork.exists(c, cidr(c.cidr).ip().family() == f) == self.serviceNetwork.exists(s, cidr(s).ip().family() == f))",messageExpression="'spec.clusterNetwork is %s, spec.serviceNetwork is %s; both must have the same IP families. Add or remove a range of the family that only one has'.format([(self.clusterNetwork.exists(c, cidr(c.cidr).ip().family() == 4) ? (self.clusterNetwork.exists(c, cidr(c.cidr).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6'), (self.serviceNetwork.exists(s, cidr(s).ip().family() == 4) ? (self.serviceNetwork.exists(s, cidr(s).ip().family() == 6) ? 'IPv4 and IPv6' : 'IPv4') : 'IPv6')])"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !has(self.defaultNetwork) || !has(self.defaultNetwork.type) || !(self.defaultNetwork.type.lowerAscii() in ['flannel', 'ovnkubernetes']) || self.clusterNetwork.all(c, has(c.hostPrefix) && c.hostPrefix > 0)",messageExpression="self.clusterNetwork.transformList(i, c, !has(c.hostPrefix) || c.hostPrefix == 0, 'spec.clusterNetwork[%d].hostPrefix is missing; type %s gives each node a block of the range. Set its prefix length, e.g. %s'.format([i, self.defaultNetwork.type, c.cidr.contains(':') ? '64' : '23 for 510 pods a node']))[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !has(self.defaultNetwork) || !has(self.defaultNetwork.flannelConfig) || !has(self.defaultNetwork.flannelConfig.mtu) || self.defaultNetwork.flannelConfig.mtu >= 1280 || self.defaultNetwork.flannelConfig.mtu < 576 || !self.clusterNetwork.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)",messageExpression="'spec.defaultNetwork.flannelConfig.mtu: %d is too small for IPv6; it must be at least 1280, since spec.clusterNetwork has an IPv6 range'.format([self.defaultNetwork.flannelConfig.mtu])"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetwork) || !has(self.defaultNetwork) || !has(self.defaultNetwork.ovnKubernetesConfig) || !has(self.defaultNetwork.ovnKubernetesConfig.mtu) || self.defaultNetwork.ovnKubernetesConfig.mtu >= 1280 || self.defaultNetwork.ovnKubernetesConfig.mtu < 576 || !self.clusterNetwork.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)",messageExpression="'spec.defaultNetwork.ovnKubernetesConfig.mtu: %d is too small for IPv6; it must be at least 1280, since spec.clusterNetwork has an IPv6 range'.format([self.defaultNetwork.ovnKubernetesConfig.mtu])"
// +kubebuilder:validation:XValidation:rule="!has(self.defaultNetwork) || !has(self.defaultNetwork.openshiftSDNConfig) || !has(self.defaultNetwork.openshiftSDNConfig.mode) || self.defaultNetwork.openshiftSDNConfig.mode.lowerAscii() in [\"\", 'subnet', 'multitenant', 'networkpolicy']",fieldPath=".defaultNetwork.openshiftSDNConfig.mode",messageExpression="'\"%s\" is not a mode; use Subnet, Multitenant or NetworkPolicy'.format([self.defaultNetwork.openshiftSDNConfig.mode])"
// +kubebuilder:validation:XValidation:rule="!has(self.defaultNetwork) || !has(self.defaultNetwork.ovnKubernetesConfig) || !has(self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements) || self.defaultNetwork.ovnKubernetesConfig.routeAdvertisements != 'Enabled' || (has(self.additionalRoutingCapabilities) && 'FRR' in self.additionalRoutingCapabilities.providers)",message="spec.defaultNetwork.ovnKubernetesConfig.routeAdvertisements: Enabled needs FRR; add FRR to spec.additionalRoutingCapabilities.providers"
type NetworkSpec struct {
	// managementState determines whether the operator manages the network: Managed (the default) or
	// Unmanaged, which changes nothing. Force is accepted and means Managed; Removed is refused,
	// since a cluster without a network cannot be repaired from within.
	// Change class: live; disruption: none.
	// +kubebuilder:default=Managed
	// +optional
	ManagementState osv1.ManagementState `json:"managementState,omitempty"`

	// logLevel is how much the deployed components log: Normal (the default), Debug, Trace or TraceAll.
	// Change class: rolling; disruption: pods restart.
	// +kubebuilder:default=Normal
	// +optional
	LogLevel osv1.LogLevel `json:"logLevel,omitempty"`

	// operatorLogLevel is how much the operator itself logs: Normal (the default), Debug, Trace or TraceAll.
	// Change class: live; disruption: none.
	// +kubebuilder:default=Normal
	// +optional
	OperatorLogLevel osv1.LogLevel `json:"operatorLogLevel,omitempty"`

	// unsupportedConfigOverrides is kept for objects that contain it; the operator does not read it.
	// Change class: live; disruption: none.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	UnsupportedConfigOverrides *runtime.RawExtension `json:"unsupportedConfigOverrides,omitempty"`

	// observedConfig is kept for objects that contain it; the operator does not read it.
	// Change class: live; disruption: none.
	// +optional
	// +nullable
	// +kubebuilder:pruning:PreserveUnknownFields
	ObservedConfig *runtime.RawExtension `json:"observedConfig,omitempty"`

	// clusterNetwork is the list of address pools for pods. How many are allowed, and whether they may be of
	// both IP families, depends on the type of the default network. It cannot be changed while the network is in
	// use.
	// Change class: forbidden; disruption: outage.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +optional
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`

	// serviceNetwork is the Service CIDR: one, or one of each IP family. It must
	// be the one that the API server uses. It cannot be changed while the network is in use.
	// Change class: forbidden; disruption: outage.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$') ? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self) ? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'])"
	// +kubebuilder:validation:items:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"%s\" has host bits set; did you mean %s?'.format([self, string(cidr(self).masked())])"
	// +optional
	ServiceNetwork []string `json:"serviceNetwork,omitempty"`

	// defaultNetwork is the network to which every pod is attached.
	// +optional
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may request, if multiple networks are enabled.
	// Change class: live; disruption: none.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// disableMultiNetwork omits the components that attach a pod to several networks. The default is false.
	// Change class: forbidden; disruption: outage.
	// +optional
	DisableMultiNetwork *bool `json:"disableMultiNetwork,omitempty"`

	// useMultiNetworkPolicy makes MultiNetworkPolicy objects effective on additional networks. The default is
	// false. Ignored when disableMultiNetwork is true.
	// Change class: rolling; disruption: pods restart.
	// +optional
	UseMultiNetworkPolicy *bool `json:"useMultiNetworkPolicy,omitempty"`

	// deployKubeProxy determines whether kube-proxy is deployed. If it is omitted, kube-proxy is deployed if
	// the provider of the default network does not serve Services itself. It needs an acknowledgement to
	// remove kube-proxy where no other component serves Services.
	// Change class: rolling; disruption: connections reset.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// disableNetworkDiagnostics disables the connectivity checks between nodes. The default is false.
	// Change class: live; disruption: none.
	// +kubebuilder:default=false
	// +optional
	DisableNetworkDiagnostics bool `json:"disableNetworkDiagnostics"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed. Everything in it is optional and
	// safe to change.
	// Change class: rolling; disruption: pods restart.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.iptablesSyncPeriod) || self.iptablesSyncPeriod == \"\" || self.iptablesSyncPeriod.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",fieldPath=".iptablesSyncPeriod",messageExpression="self.iptablesSyncPeriod.matches('^[0-9]+$') ? '\"%s\" has no unit; write %ss'.format([self.iptablesSyncPeriod, self.iptablesSyncPeriod]) : '\"%s\" is not a duration; write a number and a unit, e.g. 30s or 2m'.format([self.iptablesSyncPeriod])"
	// +kubebuilder:validation:XValidation:rule="!has(self.bindAddress) || self.bindAddress == \"\" || isIP(self.bindAddress)",fieldPath=".bindAddress",messageExpression="'\"%s\" is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::'.format([self.bindAddress])"
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`

	// exportNetworkFlows configures the export of flow records from the pod network. It has no effect with Flannel and
	// third-party networks; the status reports that.
	// Change class: live; disruption: none.
	// +optional
	ExportNetworkFlows *osv1.ExportNetworkFlows `json:"exportNetworkFlows,omitempty"`

	// migration requests a change in several phases: mtu.network.from and mtu.network.to change the MTU of
	// pods. Removing it before it has finished reverts it.
	// Change class: migration; disruption: pods restart.
	// +optional
	Migration *osv1.NetworkMigration `json:"migration,omitempty"`

	// rollout configures how changes are rolled out to nodes. Safe to change.
	// Change class: live; disruption: none.
	// +optional
	Rollout *RolloutPolicy `json:"rollout,omitempty"`

	// workloads overrides how workloads of the network run: resources, tolerations, placement, priority, environment and
	// the number of nodes that are updated at once.
	// Change class: rolling; disruption: pods restart.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Workloads []Workload `json:"workloads,omitempty"`

	// additionalRoutingCapabilities enables components that exchange routes with the machine network. It has no effect
	// with Flannel and third-party networks; the status reports that.
	// Change class: rolling; disruption: pods restart.
	// +optional
	AdditionalRoutingCapabilities *osv1.AdditionalRoutingCapabilities `json:"additionalRoutingCapabilities,omitempty"`
}

// RolloutPolicy configures how changes are rolled out to nodes.
type RolloutPolicy struct {
	// autoRollback reverts a change automatically when its rollout stalls: to the last healthy revision, with its
	// configuration, images and version. The default is false: the rollout stops, and the status reports the cause.
	// +optional
	AutoRollback bool `json:"autoRollback,omitempty"`

	// progressDeadlineSeconds is how long a rollout may make no progress before it counts as stalled, 30 to 86400. The default is
	// 600.
	// +kubebuilder:validation:XValidation:rule="self >= 30 && self <= 86400",messageExpression="'%d is out of range; it must be 30 to 86400'.format([self])"
	// +optional
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// ClusterNetworkEntry is one address pool for pods. Each node is assigned a block of it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.hostPrefix) || self.hostPrefix == 0 || !isCIDR(self.cidr) || self.hostPrefix >= cidr(self.cidr).prefixLength()",fieldPath=".hostPrefix",messageExpression="'%d must be between %d and %d for a /%d'.format([self.hostPrefix, cidr(self.cidr).prefixLength(), cidr(self.cidr).ip().family() == 4 ? 30 : 126, cidr(self.cidr).prefixLength()])"
// +kubebuilder:validation:XValidation:rule="!has(self.hostPrefix) || !isCIDR(self.cidr) || self.hostPrefix <= (cidr(self.cidr).ip().family() == 4 ? 30 : 126)",fieldPath=".hostPrefix",messageExpression="'%d leaves no usable pod address per node; use %s'.format([self.hostPrefix, cidr(self.cidr).ip().family() == 4 ? '30 or less (23 gives 510)' : '126 or less (64 is usual)'])"
type ClusterNetworkEntry struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	// Change class: forbidden; rolling where a pool grows (Flannel, OVNKubernetes, third-party networks) to a shorter prefix that begins at the same address; disruption: outage; pods restart where a pool grows.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$') ? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self) ? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"%s\" has host bits set; did you mean %s?'.format([self, string(cidr(self).masked())])"
	CIDR string `json:"cidr"`

	// hostPrefix is the prefix length of the block of each node: 23 gives blocks of 510 pod addresses.
	// It must leave at least two host bits (at most 30 for IPv4, 126 for IPv6). May be omitted for a provider
	// that does not assign blocks to nodes.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:Minimum=0
	// +optional
	HostPrefix uint32 `json:"hostPrefix,omitempty"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings. Only the settings that
// belong to the type may be set; those of OpenShift's own types may be set together, as in a
// cluster that was migrated from one to the other.
//
// +kubebuilder:validation:XValidation:rule="!has(self.openshiftSDNConfig) || !has(self.type) || !(self.type.lowerAscii() in ['flannel', 'nuage', 'contiv'])",messageExpression="'spec.defaultNetwork.openshiftSDNConfig is set but type is %s; remove one'.format([self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.ovnKubernetesConfig) || !has(self.type) || !(self.type.lowerAscii() in ['flannel', 'nuage', 'contiv'])",messageExpression="'spec.defaultNetwork.ovnKubernetesConfig is set but type is %s; remove one'.format([self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.flannelConfig) || !has(self.type) || self.type.lowerAscii() in [\"\", 'flannel']",messageExpression="'spec.defaultNetwork.flannelConfig is set but type is %s; remove one'.format([self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.kuryrConfig) || !has(self.type) || !(self.type.lowerAscii() in ['flannel', 'nuage', 'contiv'])",messageExpression="'spec.defaultNetwork.kuryrConfig is set but type is %s; remove one'.format([self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.nuageConfig) || !has(self.type) || self.type.lowerAscii() in [\"\", 'nuage']",messageExpression="'spec.defaultNetwork.nuageConfig is set but type is %s; remove one'.format([self.type])"
// +kubebuilder:validation:XValidation:rule="!has(self.contivConfig) || !has(self.type) || self.type.lowerAscii() in [\"\", 'contiv']",messageExpression="'spec.defaultNetwork.contivConfig is set but type is %s; remove one'.format([self.type])"
type DefaultNetworkDefinition struct {
	// type is the provider: Flannel, OVNKubernetes, OpenShiftSDN, Kuryr, Nuage or Contiv. Any other name stands
	// for a third-party network: the operator deploys everything but the network itself.
	// It cannot be changed while the network is in use.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Type NetworkType `json:"type,omitempty"`

	// openshiftSDNConfig are the settings of type OpenShiftSDN.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65536)",fieldPath=".mtu",messageExpression="'%d is out of range; it must be 576 to 65536'.format([self.mtu])"
	// +kubebuilder:validation:XValidation:rule="!has(self.vxlanPort) || (self.vxlanPort >= 1 && self.vxlanPort <= 65535)",fieldPath=".vxlanPort",messageExpression="'%d is out of range; it must be 1 to 65535'.format([self.vxlanPort])"
	OpenShiftSDNConfig *osv1.OpenShiftSDNConfig `json:"openshiftSDNConfig,omitempty"`

	// ovnKubernetesConfig are the settings of type OVNKubernetes. Not all are implemented; others are refused by name.
	// Change class: forbidden; disruption: none. Of single settings, class and disruption are: mtu: rolling (connections
	// reset), with an acknowledgement; genevePort: rolling (outage), with an acknowledgement; policyAuditConfig: live (none);
	// v4InternalSubnet: live (none); ipv4.internalJoinSubnet: live (none); ipv4.internalTransitSwitchSubnet: live (none).
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.mtu) || (self.mtu >= 576 && self.mtu <= 65536)",fieldPath=".mtu",messageExpression="'%d is out of range; it must be 576 to 65536 (IPv6 needs at least 1280)'.format([self.mtu])"
	// +kubebuilder:validation:XValidation:rule="!has(self.genevePort) || (self.genevePort >= 1 && self.genevePort <= 65535)",fieldPath=".genevePort",messageExpression="'%d is out of range; it must be 1 to 65535'.format([self.genevePort])"
	// +kubebuilder:validation:XValidation:rule="!has(self.gatewayConfig) || !has(self.gatewayConfig.ipForwarding) || self.gatewayConfig.ipForwarding in [\"\", 'Restricted', 'Global']",fieldPath=".gatewayConfig.ipForwarding",messageExpression="'\"%s\" is not a mode of forwarding; use Restricted or Global'.format([self.gatewayConfig.ipForwarding])"
	OVNKubernetesConfig *osv1.OVNKubernetesConfig `json:"ovnKubernetesConfig,omitempty"`

	// flannelConfig are the settings of type Flannel.
	// +optional
	FlannelConfig *FlannelConfig `json:"flannelConfig,omitempty"`

	// kuryrConfig are the settings of type Kuryr.
	// +optional
	KuryrConfig *KuryrConfig `json:"kuryrConfig,omitempty"`

	// nuageConfig are the settings of type Nuage.
	// +optional
	NuageConfig *NuageConfig `json:"nuageConfig,omitempty"`

	// contivConfig are the settings of type Contiv.
	// +optional
	ContivConfig *ContivConfig `json:"contivConfig,omitempty"`
}

// NetworkType names the provider of the default network.
type NetworkType string

// The types of default network that the operator knows. Any other name is a third-party network.
const (
	NetworkTypeFlannel       NetworkType = "Flannel"
	NetworkTypeOVNKubernetes NetworkType = "OVNKubernetes"
	NetworkTypeOpenShiftSDN  NetworkType = "OpenShiftSDN"
	NetworkTypeKuryr         NetworkType = "Kuryr"
	NetworkTypeNuage         NetworkType = "Nuage"
	NetworkTypeContiv        NetworkType = "Contiv"
)

// KuryrConfig are the settings of type Kuryr.
type KuryrConfig struct{}

// NuageConfig are the settings of type Nuage.
type NuageConfig struct{}

// ContivConfig are the settings of type Contiv.
type ContivConfig struct{}

// NetworkStatus is the observed state of the network.
type NetworkStatus struct {
	osv1.OperatorStatus `json:",inline"`
}
