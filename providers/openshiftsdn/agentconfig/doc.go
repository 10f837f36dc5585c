// Package agentconfig is what the operator and both programs of OpenShiftSDN, the controller and the agent of nodes, agree on: the file
// openshift-sdn.json, and the names, ports, directories and sockets of their pods. It is pure.
package agentconfig

const (
	// Namespace has all objects of the network.
	Namespace = "openshift-sdn"
	// Node is the DaemonSet of the agents, its ServiceAccount, and the label app of its pods.
	Node = "sdn"
	// Controller is the same of the controller.
	Controller = "sdn-controller"
	// Switch is the DaemonSet of Open vSwitch.
	Switch = "ovs"
	// Lease is the Lease in Namespace that the leading controller holds.
	Lease = "openshift-network-controller"
	// ConfigMap is the ConfigMap in Namespace whose keys are the files FileName and ProxyFile. Pods have it at ConfigDir.
	ConfigMap = "sdn-config"
	// FileName is the configuration of both programs.
	FileName = "openshift-sdn.json"
	// ProxyFile is that of kube-proxy in the pods of nodes.
	ProxyFile = "kube-proxy-config.yaml"
)

// What containers run.
const (
	// NodeProgram has the subcommands run, install-cni and cleanup, and switch for the daemons of Open vSwitch.
	NodeProgram       = "/usr/bin/openshift-sdn-node"
	ControllerProgram = "/usr/bin/openshift-sdn-controller"
)

// Directories in containers; all but HostPluginDir and ConfigDir have the same names on nodes.
const (
	ConfigDir     = "/etc/openshift-sdn"
	HostPluginDir = "/host/opt/cni/bin"          // the node's /opt/cni/bin
	PluginConfDir = "/etc/cni/net.d"             // has ConfigurationList when the node is ready for pods
	ServerDir     = "/var/run/openshift-sdn"     // the socket of the CNI plugin
	StateDir      = "/var/lib/cno/openshift-sdn" // what the agent keeps
	AddressDir    = "/var/lib/cni/networks"      // addresses of pods, in a directory named Plugin, as host-local has them
	SwitchRunDir  = "/var/run/openvswitch"       // db.sock, ovs-vswitchd.ctl, br0.mgmt
	SwitchDataDir = "/var/lib/openvswitch"       // conf.db
	SwitchControl = SwitchRunDir + "/ovs-vswitchd.ctl"
	SwitchSocket  = SwitchRunDir + "/db.sock"
)

// The names by which container runtimes know the network.
const (
	Plugin            = "openshift-sdn"                 // the type of the CNI plugin
	ConfigurationList = "80-openshift-network.conflist" // in PluginConfDir
)

// The names of interfaces.
const (
	Bridge = "br0"
	Tunnel = "tun0"
	// VXLAN is the interface of Bridge that leads to all other nodes, and TunnelBridge the bridge with the end of tunnels, which only the
	// userspace datapath has.
	VXLAN        = "vxlan0"
	TunnelBridge = "br-tun"
	// SwitchNamespace is the network namespace of Open vSwitch with the userspace datapath.
	SwitchNamespace = "openshift-sdn-ovs"
)

const (
	// HealthNode is the address of a node on which the agent serves /healthz, /readyz and /metrics.
	HealthNode = "127.0.0.1:19111"
	// HealthController is that of the controller.
	HealthController = "127.0.0.1:19112"
	// ProxyMetricsPort is the port of the loopback address on which kube-proxy serves its metrics.
	ProxyMetricsPort = 29101
	// VXLANOverhead is what VXLAN adds to a packet over IPv4, in bytes: 14 Ethernet, 20 IP, 8 UDP and 8 VXLAN.
	VXLANOverhead = 50
	// VariableMTU is the variable of agents with the state of the MTU that their pod is for (mtumigration.Annotation).
	VariableMTU = "SDN_MTU"
)
