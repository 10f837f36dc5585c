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
type FlannelConfig struct {
	// backend is the way in which packets are transported between nodes: host-gw (the default) or vxlan.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Backend FlannelBackend `json:"backend,omitempty"`

	// mtu is the MTU of pod interfaces in bytes. The default is the least MTU of all nodes' default-route
	// interfaces, less 50 for vxlan.
	// +optional
	MTU *uint32 `json:"mtu,omitempty"`

	// vxlan are the settings of the vxlan backend; only allowed with it.
	// +optional
	VXLAN *FlannelVXLAN `json:"vxlan,omitempty"`

	// interface is the name of the nodes' network interface that carries pod traffic. The default is the
	// interface of the default route.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Interface string `json:"interface,omitempty"`

	// etcd configures where flannel stores the subnets of nodes. The default is an etcd that the operator runs.
	// +optional
	Etcd *FlannelEtcd `json:"etcd,omitempty"`
}

// FlannelVXLAN are the settings of flannel's vxlan backend.
type FlannelVXLAN struct {
	// vni is the VXLAN network identifier, 1 to 16777215. The default is 1.
	// +optional
	VNI *uint32 `json:"vni,omitempty"`

	// port is the UDP port. The default is 8472, as in Linux.
	// +optional
	Port *uint32 `json:"port,omitempty"`
}

// FlannelEtcd is the etcd in which flannel stores its subnets: external or managed, not both.
type FlannelEtcd struct {
	// prefix is the key prefix of all data. The default is /coreos.com/network.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Prefix string `json:"prefix,omitempty"`

	// external is an etcd that the operator does not manage.
	// +optional
	External *FlannelExternalEtcd `json:"external,omitempty"`

	// managed is an etcd that the operator runs on up to three control-plane nodes. This is the default.
	// +optional
	Managed *FlannelManagedEtcd `json:"managed,omitempty"`
}

// FlannelExternalEtcd is an etcd that the operator does not manage.
type FlannelExternalEtcd struct {
	// endpoints are the URLs of the members, for example https://192.0.2.10:2379. They must be reachable from
	// every node without the Service network. All have the same scheme.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=512
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
type FlannelManagedEtcd struct {
	// clientPort is the port of the members for clients. The default is 12379, to avoid a conflict with
	// the etcd of the cluster itself on the same nodes.
	// +optional
	ClientPort *uint32 `json:"clientPort,omitempty"`

	// peerPort is the port on which members connect to one another. The default is 12380.
	// +optional
	PeerPort *uint32 `json:"peerPort,omitempty"`

	// dataDir is the directory on the nodes that contains the data. The default is /var/lib/cno/flannel-etcd.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	DataDir string `json:"dataDir,omitempty"`
}
