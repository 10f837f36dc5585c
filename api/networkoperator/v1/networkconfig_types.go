package v1

import (
	osv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// NetworkConfigName is the name of the only NetworkConfig object that the operator reads.
const NetworkConfigName = "default"

// NetworkConfig is the short form of the configuration of the cluster's network. There is one, named
// "default".
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=networkconfigs,scope=Cluster,shortName=netconf,categories=cno
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Type,type=string,JSONPath=`.spec.defaultNetwork.type`,description="The provider of the pod network"
// +kubebuilder:printcolumn:name=Pods,type=string,JSONPath=`.spec.clusterNetworks[*].cidr`,description="The first address pool for pods"
// +kubebuilder:printcolumn:name=Services,type=string,JSONPath=`.spec.serviceNetwork`,description="The address pool for services"
// +kubebuilder:printcolumn:name=Synced,type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`,description="Whether the Network object is what this one asks for"
// +kubebuilder:printcolumn:name=Available,type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether the network works"
// +kubebuilder:printcolumn:name=Progressing,type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`,description="Whether a change is being rolled out"
// +kubebuilder:printcolumn:name=Degraded,type=string,JSONPath=`.status.conditions[?(@.type=="Degraded")].status`,description="Whether something needs attention"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'default'",message="metadata.name must be \"default\" (there is one network per cluster)"
type NetworkConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; the name must be "default".
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired network.
	Spec NetworkConfigSpec `json:"spec"`
	// status mirrors the status of the Network object that is created from this one.
	// +optional
	Status NetworkConfigStatus `json:"status,omitempty"`
}

// NetworkConfigList is a list of NetworkConfig objects.
//
// +kubebuilder:object:root=true
type NetworkConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NetworkConfig `json:"items"`
}

// NetworkConfigSpec is the desired network. The two address pools and the type of the default
// network are required; everything else has a default.
//
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetworks) || !self.clusterNetworks.exists(i, a, self.clusterNetworks.exists(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))))",messageExpression="self.clusterNetworks.transformList(i, a, self.clusterNetworks.exists(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr))), self.clusterNetworks.transformList(j, b, i < j && isCIDR(a.cidr) && isCIDR(b.cidr) && (cidr(a.cidr).containsCIDR(b.cidr) || cidr(b.cidr).containsCIDR(a.cidr)), 'spec.clusterNetworks[%d] %s %s spec.clusterNetworks[%d] %s; choose non-overlapping ranges'.format([j, b.cidr, (a.cidr == b.cidr ? 'is the same as' : cidr(a.cidr).containsCIDR(b.cidr) ? 'lies inside' : 'contains'), i, a.cidr]))[0])[0]"
// +kubebuilder:validation:XValidation:rule="!self.clusterNetworks.exists(a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork) && (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)))",messageExpression="self.clusterNetworks.transformList(i, a, isCIDR(a.cidr) && isCIDR(self.serviceNetwork) && (cidr(a.cidr).containsCIDR(self.serviceNetwork) || cidr(self.serviceNetwork).containsCIDR(a.cidr)), 'spec.serviceNetwork %s %s spec.clusterNetworks[%d] %s; choose non-overlapping ranges'.format([self.serviceNetwork, (a.cidr == self.serviceNetwork ? 'is the same as' : cidr(a.cidr).containsCIDR(self.serviceNetwork) ? 'lies inside' : 'contains'), i, a.cidr]))[0]"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.serviceNetwork) || self.clusterNetworks.all(a, !isCIDR(a.cidr) || cidr(a.cidr).ip().family() == cidr(self.serviceNetwork).ip().family())",messageExpression="self.clusterNetworks.transformList(i, a, isCIDR(a.cidr) && cidr(a.cidr).ip().family() != cidr(self.serviceNetwork).ip().family(), 'spec.serviceNetwork is IPv%d, spec.clusterNetworks[%d] is IPv%d; use one family. For both, write a Network.operator.openshift.io instead'.format([cidr(self.serviceNetwork).ip().family(), i, cidr(a.cidr).ip().family()]))[0]"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetworks) || !has(self.defaultNetwork) || !has(self.defaultNetwork.flannelConfig) || !has(self.defaultNetwork.flannelConfig.mtu) || self.defaultNetwork.flannelConfig.mtu >= 1280 || self.defaultNetwork.flannelConfig.mtu < 576 || !self.clusterNetworks.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)",messageExpression="'spec.defaultNetwork.flannelConfig.mtu: %d is too small for IPv6; it must be at least 1280, since spec.clusterNetworks has an IPv6 range'.format([self.defaultNetwork.flannelConfig.mtu])"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterNetworks) || !has(self.defaultNetwork) || !has(self.defaultNetwork.ovnKubernetesConfig) || !has(self.defaultNetwork.ovnKubernetesConfig.mtu) || self.defaultNetwork.ovnKubernetesConfig.mtu >= 1280 || self.defaultNetwork.ovnKubernetesConfig.mtu < 576 || !self.clusterNetworks.exists(c, isCIDR(c.cidr) && cidr(c.cidr).ip().family() == 6)",messageExpression="'spec.defaultNetwork.ovnKubernetesConfig.mtu: %d is too small for IPv6; it must be at least 1280, since spec.clusterNetworks has an IPv6 range'.format([self.defaultNetwork.ovnKubernetesConfig.mtu])"
// +kubebuilder:validation:XValidation:rule="!has(self.defaultNetwork) || !has(self.defaultNetwork.openshiftSDNConfig) || !has(self.defaultNetwork.openshiftSDNConfig.mode) || self.defaultNetwork.openshiftSDNConfig.mode.lowerAscii() in [\"\", 'subnet', 'multitenant', 'networkpolicy']",fieldPath=".defaultNetwork.openshiftSDNConfig.mode",messageExpression="'\"%s\" is not a mode; use Subnet, Multitenant or NetworkPolicy'.format([self.defaultNetwork.openshiftSDNConfig.mode])"
// +kubebuilder:validation:XValidation:rule="has(self.defaultNetwork.type) && self.defaultNetwork.type != \"\"",fieldPath=".defaultNetwork.type",message="is required; write one of Flannel, OVNKubernetes, OpenShiftSDN, Kuryr, Nuage, Contiv, or the name of a third-party network"
type NetworkConfigSpec struct {
	// clusterNetworks is the list of address pools for pods. All of them, and serviceNetwork, are of one IP
	// family. They cannot be changed while the network is in use.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ClusterNetworks []ClusterNetwork `json:"clusterNetworks"`

	// serviceNetwork is the Service CIDR. It must be the one that the API server
	// uses. It cannot be changed while the network is in use.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$') ? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self) ? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"%s\" has host bits set; did you mean %s?'.format([self, string(cidr(self).masked())])"
	ServiceNetwork string `json:"serviceNetwork"`

	// defaultNetwork is the network to which every pod is attached. It has the fields of the same name in
	// Network.operator.openshift.io, and otherConfig.
	DefaultNetwork DefaultNetworkDefinition `json:"defaultNetwork"`

	// additionalNetworks are further networks that pods may request.
	// +listType=map
	// +listMapKey=name
	// +optional
	AdditionalNetworks []osv1.AdditionalNetworkDefinition `json:"additionalNetworks,omitempty"`

	// deployKubeProxy determines whether kube-proxy is deployed. If it is omitted, kube-proxy is deployed if
	// the provider of the default network does not serve Services itself. It needs an acknowledgement to
	// remove kube-proxy where no other component serves Services.
	// +optional
	DeployKubeProxy *bool `json:"deployKubeProxy,omitempty"`

	// kubeProxyConfig is the configuration of the kube-proxy that is deployed. Everything in it is optional and
	// safe to change.
	// +kubebuilder:validation:XValidation:rule="!has(self.iptablesSyncPeriod) || self.iptablesSyncPeriod == \"\" || self.iptablesSyncPeriod.matches('^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",fieldPath=".iptablesSyncPeriod",messageExpression="self.iptablesSyncPeriod.matches('^[0-9]+$') ? '\"%s\" has no unit; write %ss'.format([self.iptablesSyncPeriod, self.iptablesSyncPeriod]) : '\"%s\" is not a duration; write a number and a unit, e.g. 30s or 2m'.format([self.iptablesSyncPeriod])"
	// +kubebuilder:validation:XValidation:rule="!has(self.bindAddress) || self.bindAddress == \"\" || isIP(self.bindAddress)",fieldPath=".bindAddress",messageExpression="'\"%s\" is not an IP address; write one without a prefix or a port, e.g. 0.0.0.0 or ::'.format([self.bindAddress])"
	// +optional
	KubeProxyConfig *osv1.ProxyConfig `json:"kubeProxyConfig,omitempty"`
}

// ClusterNetwork is one address pool for pods. Each node gets a block of it.
//
// +kubebuilder:validation:XValidation:rule="!isCIDR(self.cidr) || (self.hostSubnetLength >= 2 && self.hostSubnetLength <= (cidr(self.cidr).ip().family() == 4 ? 32 : 128) - cidr(self.cidr).prefixLength())",fieldPath=".hostSubnetLength",messageExpression="'%d must be between 2 and %d for a /%d: it is the number of host bits, so that 9 gives each node a /%d'.format([self.hostSubnetLength, (cidr(self.cidr).ip().family() == 4 ? 32 : 128) - cidr(self.cidr).prefixLength(), cidr(self.cidr).prefixLength(), (cidr(self.cidr).ip().family() == 4 ? 23 : 119)])"
type ClusterNetwork struct {
	// cidr is the pool in CIDR notation, without host bits, for example 10.128.0.0/14.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="isCIDR(self)",messageExpression="'\"%s\" is not a CIDR; %s'.format([self, self.matches('^[0-9]+[.][0-9]+[.][0-9]+/[0-9]+$') ? 'write four octets and a prefix, e.g. %s.0/%s'.format(self.split('/')) : isIP(self) ? 'add the length of its prefix after a slash' : 'write an address and a prefix, e.g. 10.128.0.0/14 or fd00:10::/48'])"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || cidr(self) == cidr(self).masked()",messageExpression="'\"%s\" has host bits set; did you mean %s?'.format([self, string(cidr(self).masked())])"
	CIDR string `json:"cidr"`

	// hostSubnetLength is the number of host bits of the block that each node gets, which is the reverse of
	// CIDR notation: 9 means a /23 in IPv4, and a /119 in IPv6.
	// +kubebuilder:validation:Minimum=0
	HostSubnetLength uint32 `json:"hostSubnetLength"`
}

// DefaultNetworkDefinition is the provider of the default network and its settings.
type DefaultNetworkDefinition struct {
	operatorv1.DefaultNetworkDefinition `json:",inline"`

	// otherConfig is kept for objects that contain it; the operator does not read it.
	// +optional
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
}

// NetworkConfigStatus mirrors the status of the Network object that is created from this one.
type NetworkConfigStatus struct {
	// observedGeneration is the generation of this object to which the conditions refer.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are those of Network.operator.openshift.io/cluster, and Synced, which is True if that object
	// matches this one.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []osv1.OperatorCondition `json:"conditions,omitempty"`

	// version is the version of the operator that the conditions describe.
	// +optional
	Version string `json:"version,omitempty"`
}
