package agentconfig

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Version is the version of the configuration file's format.
const Version = 1

// fileName is the name of the configuration file.
const fileName = "flanneld.json"

// The types of backend, with flannel's own names.
const (
	// BackendHostGW routes to the other nodes' addresses directly.
	BackendHostGW = "host-gw"
	// BackendVXLAN wraps packets between nodes in VXLAN.
	BackendVXLAN = "vxlan"
)

// VXLANOverhead is what the vxlan backend adds to a packet over IPv4, in bytes: 14 Ethernet, 20 IP, 8 UDP and 8
// VXLAN. Flannel uses the same figure.
const VXLANOverhead = 50

// Config is the file flanneld.json.
type Config struct {
	// Version is the version of the format, always 1.
	Version int `json:"version"`
	// Etcd is where subnets are kept.
	Etcd Etcd `json:"etcd"`
	// Network is what pods get their addresses from.
	Network Network `json:"network"`
	// Backend is how packets get to other nodes.
	Backend Backend `json:"backend"`
	// Interface is the name of the interface that carries pod traffic. Empty means the one of the default route.
	Interface string `json:"interface,omitempty"`
	// MTU is the MTU of pod interfaces in bytes. 0 means what the backend offers: the interface's MTU for
	// host-gw, 50 less for vxlan.
	MTU int `json:"mtu,omitempty"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *MTUMigration `json:"migration,omitempty"`
	// Masquerade says whether traffic from pods to addresses outside the network gets the node's address.
	Masquerade bool `json:"masquerade"`
	// CNI is how the container runtime is told.
	CNI CNI `json:"cni"`
	// SubnetFile is flannel's file of variables for other programs on the node.
	SubnetFile string `json:"subnetFile"`
	// StateDir is where the agent keeps what it needs to start without etcd.
	StateDir string `json:"stateDir"`
	// ProcSys is where the kernel's settings are; elsewhere than /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// HealthAddress is the host and port on which health and metrics are served.
	HealthAddress string `json:"healthAddress"`
}

// MTUMigration is one step of a change of the MTU.
type MTUMigration = agentfile.MTUMigration

// Etcd says how etcd is reached.
type Etcd struct {
	// Endpoints are URLs with http or https.
	Endpoints []string `json:"endpoints"`
	// Prefix is the key below which everything is kept, without a slash at the end.
	Prefix string `json:"prefix"`
	// CAFile holds the authorities that the members' certificates are checked against, as PEM. Empty means the
	// system's.
	CAFile string `json:"caFile,omitempty"`
	// CertFile and KeyFile hold the certificate and key to present, as PEM. Both or neither.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// OwnCertificate is true if the node has an identity of its own: the agent requests a certificate from the operator
	// through the Kubernetes API, presents it instead of CertFile once it has it, and takes only the subnet that the
	// operator has reserved for the node.
	OwnCertificate bool `json:"ownCertificate,omitempty"`
}

// Network is what pods get their addresses from.
type Network struct {
	// IPv4 is the network of all nodes together. Flannel's keys need one.
	IPv4 netip.Prefix `json:"ipv4"`
	// IPv4SubnetLen is the prefix length of a node's subnet.
	IPv4SubnetLen int `json:"ipv4SubnetLen"`
	// IPv6 is the IPv6 network. The zero value means that pods have no IPv6 addresses.
	IPv6 netip.Prefix `json:"ipv6,omitzero"`
	// IPv6SubnetLen is the prefix length of a node's IPv6 subnet. 0 without IPv6.
	IPv6SubnetLen int `json:"ipv6SubnetLen,omitempty"`
}

// Backend is how packets get to other nodes.
type Backend struct {
	// Type is host-gw or vxlan.
	Type string `json:"type"`
	// VNI and Port are the network identifier and the UDP port of vxlan; 0 for host-gw.
	VNI  int `json:"vni,omitempty"`
	Port int `json:"port,omitempty"`
}

// CNI is how the container runtime is told of the network.
type CNI struct {
	// ConfDir is the directory of network configurations, as the agent sees it.
	ConfDir string `json:"confDir"`
	// BinDir is the directory of plugins, as the agent sees it. The configuration is not written before the
	// plugins it names are there. Empty means that this is not checked.
	BinDir string `json:"binDir"`
	// ResultsDir is the directory in which the container runtime remembers what plugins answered, as the agent sees it. Empty means /var/lib/cni/results.
	ResultsDir string `json:"resultsDir,omitempty"`
	// Bridge is the name of the bridge that pods on a node are attached to.
	Bridge string `json:"bridge"`
	// CNIVersion is the version of the configuration's format.
	CNIVersion string `json:"cniVersion"`
	// PortMap says whether host ports of pods are served by the portmap plugin.
	PortMap bool `json:"portMap"`
	// MultiNetwork says whether pods may have further networks, which the shim multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork,omitempty"`
}

// Default returns a configuration that lacks only what has no default: endpoints and network.
func Default() Config {
	return Config{
		Version:    Version,
		Etcd:       Etcd{Prefix: "/coreos.com/network"},
		Backend:    Backend{Type: BackendHostGW},
		Masquerade: true,
		CNI: CNI{
			ConfDir:    "/etc/cni/net.d",
			BinDir:     "/opt/cni/bin",
			Bridge:     "cni0",
			CNIVersion: "1.0.0",
			PortMap:    true,
		},
		SubnetFile:    "/run/flannel/subnet.env",
		StateDir:      "/var/lib/cno/flannel",
		ProcSys:       "/proc/sys",
		HealthAddress: "127.0.0.1:19099",
	}
}

// Decode reads the file. What the file does not say has its default; a field that is not known is an error.
// The result is not validated.
func Decode(data []byte) (Config, error) {
	return agentfile.Decode(fileName, data, Default())
}

// Encode returns the file's content: every field explicit, the same bytes for the same configuration.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(fileName, c) }

// DualStack reports whether pods have IPv6 addresses too.
func (n Network) DualStack() bool { return n.IPv6.IsValid() }
