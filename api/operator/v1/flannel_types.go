package v1

// FlannelBackend is the way in which flannel carries packets between nodes.
//
// +kubebuilder:validation:Enum=host-gw;vxlan
type FlannelBackend string

// The backends of flannel.
const (
	// FlannelBackendHostGW routes to the other nodes' addresses directly. It adds no header, and needs all
	// nodes on one link.
	FlannelBackendHostGW FlannelBackend = "host-gw"
	// FlannelBackendVXLAN wraps packets in VXLAN (50 bytes of header). It works across routers.
	FlannelBackendVXLAN FlannelBackend = "vxlan"
)

// FlannelConfig are the settings of type Flannel. All of them are optional.
type FlannelConfig struct {
	// backend is the way packets are carried between nodes: host-gw (the default) or vxlan. It cannot be
	// changed while the network is in use.
	// +optional
	Backend FlannelBackend `json:"backend,omitempty"`

	// mtu is the MTU of pod interfaces in bytes. The default is the least MTU of all nodes' default-route
	// interfaces, less 50 for vxlan. It cannot be changed while the network is in use.
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65536
	// +optional
	MTU *uint32 `json:"mtu,omitempty"`

	// vxlan are the settings of the vxlan backend; only allowed with it.
	// +optional
	VXLAN *FlannelVXLAN `json:"vxlan,omitempty"`

	// interface is the name of the nodes' network interface that carries pod traffic. The default is the
	// interface of the default route.
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[^\s/]*$`
	// +optional
	Interface string `json:"interface,omitempty"`

	// etcd says where flannel keeps which node has which subnet. The default is etcd that the operator runs.
	// +optional
	Etcd *FlannelEtcd `json:"etcd,omitempty"`
}

// FlannelVXLAN are the settings of flannel's vxlan backend.
type FlannelVXLAN struct {
	// vni is the VXLAN network identifier, 1 to 16777215. The default is 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16777215
	// +optional
	VNI *uint32 `json:"vni,omitempty"`

	// port is the UDP port. The default is 8472, which is Linux's own.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *uint32 `json:"port,omitempty"`
}

// FlannelEtcd is the etcd that flannel keeps its subnets in: external or managed, not both.
type FlannelEtcd struct {
	// prefix is the key under which everything is kept. The default is /coreos.com/network.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// external is an etcd that somebody else runs.
	// +optional
	External *FlannelExternalEtcd `json:"external,omitempty"`

	// managed is an etcd that the operator runs on up to three control-plane nodes. This is the default.
	// +optional
	Managed *FlannelManagedEtcd `json:"managed,omitempty"`
}

// FlannelExternalEtcd is an etcd that somebody else runs.
type FlannelExternalEtcd struct {
	// endpoints are the URLs of the members, for example https://192.0.2.10:2379. They must be reachable from
	// every node without the service network.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	Endpoints []string `json:"endpoints"`

	// caConfigMap names a ConfigMap in the operator's namespace whose key ca-bundle.crt holds the certificate
	// authorities that the members' certificates are checked against. Required with https endpoints.
	// +optional
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// clientCertificateSecret names a Secret of type kubernetes.io/tls in the operator's namespace that holds
	// the certificate and key to present to the members.
	// +optional
	ClientCertificateSecret string `json:"clientCertificateSecret,omitempty"`
}

// FlannelManagedEtcd is an etcd that the operator runs. The members talk mutual TLS, and keep their data on
// the nodes' disks.
type FlannelManagedEtcd struct {
	// clientPort is the port of the members for clients. The default is 12379, to keep out of the way of the
	// etcd of the cluster itself on the same nodes.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	ClientPort *uint32 `json:"clientPort,omitempty"`

	// peerPort is the port of the members for one another. The default is 12380.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	PeerPort *uint32 `json:"peerPort,omitempty"`

	// dataDir is the folder on the nodes that holds the data. The default is /var/lib/cno/flannel-etcd.
	// +kubebuilder:validation:Pattern=`^/.*[^/]$`
	// +optional
	DataDir string `json:"dataDir,omitempty"`
}
