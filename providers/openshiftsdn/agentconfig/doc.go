// Package agentconfig has the configuration that the operator shares with the controller and the agents of OpenShiftSDN: the file openshift-sdn.json, and the
// names, ports, directories and sockets of their pods. It is pure.
package agentconfig

const (
	// Namespace is the namespace of all objects of the network.
	Namespace = "openshift-sdn"
	// Node is the name of the agents' DaemonSet and ServiceAccount, and the value of the label app of their pods.
	Node = "sdn"
	// Controller is the same for the controller.
	Controller = "sdn-controller"
	// Switch is the name of the DaemonSet of Open vSwitch.
	Switch = "ovs"
	// Lease is the name of the Lease in Namespace that the leading controller holds.
	Lease = "openshift-network-controller"
	// ConfigMap is the name of the ConfigMap in Namespace with the keys FileName and ProxyFile. It is mounted at ConfigDir.
	ConfigMap = "sdn-config"
	// FileName is the configuration file of the controller and the agents.
	FileName = "openshift-sdn.json"
	// ProxyFile is the configuration file of kube-proxy in the pods of agents.
	ProxyFile = "kube-proxy-config.yaml"
)

// Executables in the containers.
const (
	// NodeProgram has the subcommands run, install-cni and cleanup, and switch for the daemons of Open vSwitch.
	NodeProgram       = "/usr/bin/openshift-sdn-node"
	ControllerProgram = "/usr/bin/openshift-sdn-controller"
)

// Directories in containers. All except HostPluginDir and ConfigDir have the same path on the node.
const (
	ConfigDir     = "/etc/openshift-sdn"
	HostPluginDir = "/host/opt/cni/bin"          // the node's /opt/cni/bin
	PluginConfDir = "/etc/cni/net.d"             // ConfigurationList exists there while the node is ready for pods
	ServerDir     = "/var/run/openshift-sdn"     // the socket of the CNI plugin
	StateDir      = "/var/lib/cno/openshift-sdn" // state of the agent
	AddressDir    = "/var/lib/cni/networks"      // addresses of pods, in the directory named Plugin and the format of host-local
	SwitchRunDir  = "/var/run/openvswitch"       // db.sock, ovs-vswitchd.ctl, br0.mgmt
	SwitchDataDir = "/var/lib/openvswitch"       // conf.db
	SwitchControl = SwitchRunDir + "/ovs-vswitchd.ctl"
	SwitchSocket  = SwitchRunDir + "/db.sock"
)

// Names that container runtimes use for the network.
const (
	Plugin            = "openshift-sdn"                 // the type of the CNI plugin
	ConfigurationList = "80-openshift-network.conflist" // in PluginConfDir
)

// Names of interfaces.
const (
	Bridge = "br0"
	Tunnel = "tun0"
	// VXLAN is the interface of Bridge to all other nodes. TunnelBridge is the bridge with the tunnel endpoint; only the userspace datapath has it.
	VXLAN        = "vxlan0"
	TunnelBridge = "br-tun"
	// SwitchNamespace is the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace = "openshift-sdn-ovs"
)

const (
	// HealthNode is the address on a node at which the agent serves /healthz, /readyz and /metrics.
	HealthNode = "127.0.0.1:19111"
	// HealthController is the same for the controller.
	HealthController = "127.0.0.1:19112"
	// ProxyMetricsPort is the port of the loopback address on which kube-proxy serves its metrics.
	ProxyMetricsPort = 29101
	// VXLANOverhead is the overhead of VXLAN over IPv4, in bytes: 14 Ethernet, 20 IP, 8 UDP and 8 VXLAN.
	VXLANOverhead = 50
	// VariableMTU is the agents' environment variable with the MTU state of their pod (mtumigration.Annotation).
	VariableMTU = "SDN_MTU"
)
