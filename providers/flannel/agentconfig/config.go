package agentconfig

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
)

// Version is the format version of the configuration file.
const Version = 1

// fileName is the name of the configuration file.
const fileName = "flanneld.json"

// Types of backend, with flannel's names.
const (
	// BackendHostGW routes directly to the addresses of other nodes.
	BackendHostGW = "host-gw"
	// BackendVXLAN encapsulates packets between nodes in VXLAN.
	BackendVXLAN = "vxlan"
)

// VXLANOverhead is the overhead of the vxlan backend over IPv4, in bytes: 14 Ethernet, 20 IP, 8 UDP and 8 VXLAN. Flannel uses the same figure.
const VXLANOverhead = 50

// Config is the content of flanneld.json.
type Config struct {
	// Version is the format version, always 1.
	Version int `json:"version"`
	// Etcd configures the etcd that stores subnets.
	Etcd Etcd `json:"etcd"`
	// Network configures the addresses of pods.
	Network Network `json:"network"`
	// Backend configures the transport between nodes.
	Backend Backend `json:"backend"`
	// Interface is the name of the interface for pod traffic. Empty means the interface of the default route.
	Interface string `json:"interface,omitempty"`
	// MTU is the MTU of pod interfaces in bytes. 0 means the maximum of the backend: the interface's MTU for host-gw, 50 less for vxlan.
	MTU int `json:"mtu,omitempty"`
	// Migration is set while the MTU of a network in use is being changed.
	Migration *MTUMigration `json:"migration,omitempty"`
	// Masquerade enables source NAT to the node's address for traffic from pods to addresses outside the network.
	Masquerade bool `json:"masquerade"`
	// CNI configures the container runtime.
	CNI CNI `json:"cni"`
	// SubnetFile is the path of flannel's file with variables for other software on the node.
	SubnetFile string `json:"subnetFile"`
	// StateDir has the state that the agent needs to start without etcd.
	StateDir string `json:"stateDir"`
	// ProcSys is the directory of kernel parameters. It differs from /proc/sys if that is read-only in the container.
	ProcSys string `json:"procSys"`
	// HealthAddress is the HOST:PORT of the health and metrics endpoints.
	HealthAddress string `json:"healthAddress"`
}

// MTUMigration is one step of an MTU migration.
type MTUMigration = agentfile.MTUMigration

// Etcd configures the client of etcd.
type Etcd struct {
	// Endpoints are URLs with scheme http or https.
	Endpoints []string `json:"endpoints"`
	// Prefix is the prefix of all keys, without a trailing slash.
	Prefix string `json:"prefix"`
	// CAFile has the CAs of the members' certificates in PEM form. Empty means the system's CAs.
	CAFile string `json:"caFile,omitempty"`
	// CertFile and KeyFile have the client certificate and its key in PEM form. Both or neither must be set.
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// OwnCertificate is true if the node has its own identity: the agent requests a certificate from the operator through the Kubernetes API, uses it instead
	// of CertFile, and takes only the subnet that the operator has reserved for the node.
	OwnCertificate bool `json:"ownCertificate,omitempty"`
}

// Network configures the addresses of pods.
type Network struct {
	// IPv4 is the network of all nodes. Required by flannel's keys.
	IPv4 netip.Prefix `json:"ipv4"`
	// IPv4SubnetLen is the prefix length of a node's subnet.
	IPv4SubnetLen int `json:"ipv4SubnetLen"`
	// IPv6 is the IPv6 network. The zero value disables IPv6.
	IPv6 netip.Prefix `json:"ipv6,omitzero"`
	// IPv6SubnetLen is the prefix length of a node's IPv6 subnet. 0 without IPv6.
	IPv6SubnetLen int `json:"ipv6SubnetLen,omitempty"`
}

// Backend configures the transport between nodes.
type Backend struct {
	// Type is host-gw or vxlan.
	Type string `json:"type"`
	// VNI and Port are the network identifier and the UDP port of vxlan; 0 for host-gw.
	VNI  int `json:"vni,omitempty"`
	Port int `json:"port,omitempty"`
}

// CNI configures the container runtime.
type CNI struct {
	// ConfDir is the directory of network configurations, as a path in the agent's container.
	ConfDir string `json:"confDir"`
	// BinDir is the directory of plugins, as a path in the agent's container. The agent writes the configuration after the plugins that it names exist. Empty
	// disables this check.
	BinDir string `json:"binDir"`
	// ResultsDir is the container runtime's cache of plugin results, as a path in the agent's container. Empty means /var/lib/cni/results.
	ResultsDir string `json:"resultsDir,omitempty"`
	// Bridge is the name of the bridge that connects the pods of a node.
	Bridge string `json:"bridge"`
	// CNIVersion is the format version of the configuration.
	CNIVersion string `json:"cniVersion"`
	// PortMap enables the portmap plugin for host ports of pods.
	PortMap bool `json:"portMap"`
	// MultiNetwork is true if pods may have additional networks, which multus-shim attaches.
	MultiNetwork bool `json:"multiNetwork,omitempty"`
}

// Default returns a configuration with all default values. The endpoints and the network have none.
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

// Decode decodes the file. Missing fields have their default values; an unknown field is an error. The result is not validated.
func Decode(data []byte) (Config, error) {
	return agentfile.Decode(fileName, data, Default())
}

// Encode returns the content of the file, with every field explicit. The output is deterministic.
func (c Config) Encode() ([]byte, error) { return agentfile.Encode(fileName, c) }

// DualStack reports whether pods have IPv6 addresses, too.
func (n Network) DualStack() bool { return n.IPv6.IsValid() }
