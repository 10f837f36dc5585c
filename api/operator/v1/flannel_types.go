package v1

// FlannelBackend is the way in which flannel transports packets between nodes.
type FlannelBackend string

// The backends of flannel.
const (
	// FlannelBackendHostGW routes packets to the addresses of the other nodes. It adds no header, and requires all
	// nodes on one link.
	FlannelBackendHostGW FlannelBackend = "host-gw"
	// FlannelBackendVXLAN encapsulates packets in VXLAN (50 bytes of headers). It works across routers.
	FlannelBackendVXLAN FlannelBackend = "vxlan"
)

// FlannelConfig are the settings of type Flannel. All of them are optional.
//
// +kubebuilder:validation:XValidation:rule="!has(self.vxlan) || (has(self.backend) && self.backend == 'vxlan')",fieldPath=".vxlan",messageExpression="'is set but the backend is %s; remove it, or set backend to vxlan'.format([has(self.backend) && self.backend != \"\" ? self.backend : 'host-gw'])"
type FlannelConfig struct {
	// backend is the way in which packets are transported between nodes: host-gw (the default) or vxlan.
	// Change class: rolling, once acknowledged; disruption: outage.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self in [\"\", 'host-gw', 'vxlan']",messageExpression="'\"%s\" is not a backend; use host-gw if all nodes are on one link, vxlan if there are routers between them'.format([self])"
	// +optional
	Backend FlannelBackend `json:"backend,omitempty"`

	// mtu is the MTU of pod interfaces in bytes. The default is the least MTU of all nodes' default-route
	// interfaces, less 50 for vxlan.
	// Change class: migration, or once acknowledged; disruption: connections reset.
	// +kubebuilder:validation:XValidation:rule="self >= 576 && self <= 65535",messageExpression="'%d is out of range; it must be 576 to 65535 (IPv6 needs at least 1280)'.format([self])"
	// +optional
	MTU *uint32 `json:"mtu,omitempty"`

	// vxlan are the settings of the vxlan backend; only allowed with it.
	// Change class: rolling, once acknowledged; disruption: outage.
	// +optional
	VXLAN *FlannelVXLAN `json:"vxlan,omitempty"`

	// interface is the name of the nodes' network interface that carries pod traffic. The default is the
	// interface of the default route.
	// Change class: rolling, once acknowledged; disruption: outage.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:]/:]{0,15}$') && !(self in ['.', '..'])",messageExpression="'\"%s\" is not the name of an interface; it has at most 15 characters without slash, colon or space, e.g. eth1'.format([self])"
	// +optional
	Interface string `json:"interface,omitempty"`

	// etcd configures where flannel stores the subnets of nodes. The default is an etcd that the operator runs.
	// Change class: forbidden; disruption: outage.
	// +optional
	Etcd *FlannelEtcd `json:"etcd,omitempty"`
}

// FlannelVXLAN are the settings of flannel's vxlan backend.
type FlannelVXLAN struct {
	// vni is the VXLAN network identifier, 1 to 16777215. The default is 1.
	// Change class: rolling, once acknowledged; disruption: outage.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 16777215",messageExpression="'%d is out of range; it must be 1 to 16777215'.format([self])"
	// +optional
	VNI *uint32 `json:"vni,omitempty"`

	// port is the UDP port. The default is 8472, as in Linux.
	// Change class: rolling, once acknowledged; disruption: outage.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'%d is out of range; it must be 1 to 65535'.format([self])"
	// +optional
	Port *uint32 `json:"port,omitempty"`
}

// FlannelEtcd is the etcd in which flannel stores its subnets: external or managed, not both.
//
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.managed)",message="external and managed are both set; remove one (without either, the operator runs etcd)"
type FlannelEtcd struct {
	// prefix is the key prefix of all data. The default is /coreos.com/network.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == \"\" || self.matches('^(/[^/]+)+$')",messageExpression="'\"%s\" is not a prefix of keys; it must begin with a slash, not end with one, and have no empty parts, e.g. /coreos.com/network'.format([self])"
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// external is an etcd that the operator does not manage.
	// Change class: rolling; disruption: pods restart.
	// +optional
	External *FlannelExternalEtcd `json:"external,omitempty"`

	// managed is an etcd that the operator runs on up to three control-plane nodes. This is the default.
	// Change class: forbidden; disruption: outage.
	// +optional
	Managed *FlannelManagedEtcd `json:"managed,omitempty"`
}

// FlannelExternalEtcd is an etcd that the operator does not manage.
//
// +kubebuilder:validation:XValidation:rule="!self.endpoints.exists(e, e.contains('@'))",fieldPath=".endpoints",message="a URL holds a user name or a password, which would be readable on every node; use clientCertificateSecret instead"
// +kubebuilder:validation:XValidation:rule="!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.caConfigMap) && self.caConfigMap != \"\")",message="caConfigMap is required with https endpoints; name the ConfigMap whose key ca-bundle.crt holds the authorities of the members, in the operator's namespace"
// +kubebuilder:validation:XValidation:rule="!self.endpoints.exists(e, e.startsWith('https://')) || (has(self.clientCertificateSecret) && self.clientCertificateSecret != \"\")",message="clientCertificateSecret is required with https endpoints; name the Secret of type kubernetes.io/tls with the certificate to present to the members, in the operator's namespace"
// +kubebuilder:validation:XValidation:rule="!self.endpoints.exists(e, e.startsWith('https://')) || !self.endpoints.exists(e, e.startsWith('http://'))",fieldPath=".endpoints",message="http and https are mixed; use one scheme for all members"
type FlannelExternalEtcd struct {
	// endpoints are the URLs of the members, for example https://192.0.2.10:2379. They must be reachable from
	// every node without the Service network. All have the same scheme.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:XValidation:rule="self.contains('@') || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != \"\" && url(self).getPort() != \"\" && url(self).getEscapedPath() == \"\" && url(self).getQuery().size() == 0)",messageExpression="'\"%s\" is not the URL of a member; write scheme, host and port, e.g. https://192.0.2.10:2379'.format([self])"
	Endpoints []string `json:"endpoints"`

	// caConfigMap names a ConfigMap in the operator's namespace whose key ca-bundle.crt contains the CA
	// certificates that verify the members' certificates. Required with https endpoints.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// clientCertificateSecret names a Secret of type kubernetes.io/tls in the operator's namespace that holds
	// the certificate and key to present to the members. Required with https endpoints.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ClientCertificateSecret string `json:"clientCertificateSecret,omitempty"`
}

// FlannelManagedEtcd is an etcd that the operator runs. The members use mutual TLS, and store their data on
// the nodes' disks.
//
// +kubebuilder:validation:XValidation:rule="(has(self.clientPort) ? self.clientPort : 12379) != (has(self.peerPort) ? self.peerPort : 12380)",messageExpression="'clientPort and peerPort are both %d; choose two different ports'.format([(has(self.clientPort) ? self.clientPort : 12379)])"
type FlannelManagedEtcd struct {
	// clientPort is the port of the members for clients. The default is 12379, to avoid a conflict with
	// the etcd of the cluster itself on the same nodes.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'%d is out of range; it must be 1 to 65535'.format([self])"
	// +optional
	ClientPort *uint32 `json:"clientPort,omitempty"`

	// peerPort is the port on which members connect to one another. The default is 12380.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 65535",messageExpression="'%d is out of range; it must be 1 to 65535'.format([self])"
	// +optional
	PeerPort *uint32 `json:"peerPort,omitempty"`

	// dataDir is the directory on the nodes that contains the data. The default is /var/lib/cno/flannel-etcd.
	// Change class: forbidden; disruption: outage.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == \"\" || (self.matches('^(/[^/:]+)+$') && !self.matches('/[.]{1,2}(/|$)'))",messageExpression="'\"%s\" is not the path of a directory; write an absolute path in its shortest form, e.g. /var/lib/cno/flannel-etcd'.format([self])"
	// +optional
	DataDir string `json:"dataDir,omitempty"`
}
