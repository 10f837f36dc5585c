// Package agentconfig has the configuration that the operator shares with the containers of OVN-Kubernetes, in addition to the topology: commands, variables,
// ports, directories and sockets. The operator renders them into DaemonSets; /usr/bin/ovnkube.sh and ovnkube use them. It is pure.
package agentconfig

const (
	// Namespace is the namespace of all objects of the network.
	Namespace = "openshift-ovn-kubernetes"
	// Lease is the name of the Lease in Namespace that the leading master holds.
	Lease = "ovn-kubernetes-master"
	// PKI is the name of the OperatorPKI in Namespace, and the common name of its certificate. Its Secret is mounted at CertificateDir, its ConfigMap at
	// CADir.
	PKI = "ovn"
	// ConfigMap is the name of the ConfigMap in Namespace with the configuration of the containers, with the keys below.
	ConfigMap = "ovn-config"
	// Plugin is the type of the CNI plugin with which the agent is called.
	Plugin = "ovn-k8s-cni-overlay"
)

// Keys of ConfigMap.
const (
	// KeyNorth is the endpoint of the northbound database of each master: unix:PATH.
	KeyNorth = "OvnNorth"
	// KeySouth has the endpoints of the southbound database for nodes: ssl:ADDRESS:6642 of every control-plane node, separated by commas. Only the leading
	// master listens there.
	KeySouth = "OvnSouth"
	// KeyAPIServer is the URL of the API server.
	KeyAPIServer = "k8s_apiserver"
	// KeyClusterNetwork has the pools of the cluster network: CIDR/LENGTH, separated by commas. LENGTH is the prefix length of a node's block.
	KeyClusterNetwork = "net_cidr"
	// KeyServiceNetwork has the Service CIDRs, separated by commas.
	KeyServiceNetwork = "svc_cidr"
)

// Script is the command of all containers. Its only argument is one of the commands below.
const Script = "/usr/bin/ovnkube.sh"

// Commands. Each one is the name of a process.
const (
	CommandSwitch     = "ovs-server"     // ovsdb-server and ovs-vswitchd, in container ovs-daemons
	CommandController = "ovn-controller" // OVN's agent on each node
	CommandNode       = "ovn-node"       // ovnkube on each node
	CommandNorth      = "nb-ovsdb"       // the northbound database, on masters
	CommandSouth      = "sb-ovsdb"       // the southbound database, on masters
	CommandNorthd     = "run-ovn-northd" // ovn-northd, on masters
	CommandMaster     = "ovn-master"     // ovnkube on masters
)

// Commands that compare the databases and the node with the Kubernetes API, in containers CommandMaster and CommandNode. With FlagJSON they print a
// finding.Report.
const (
	CommandCheckMaster = "check-master"
	CommandCheckNode   = "check-node"
	FlagJSON           = "json"
)

// Environment variables of all containers.
const (
	VariableNode           = "K8S_NODE"                 // the name of the node
	VariableNodeAddress    = "K8S_NODE_IP"              // its addresses, one of each IP family, separated by commas
	VariableAPIServer      = "K8S_APISERVER"            // KeyAPIServer
	VariableNorth          = "OVN_NORTH"                // KeyNorth
	VariableSouth          = "OVN_SOUTH"                // KeySouth
	VariableClusterNetwork = "OVN_NET_CIDR"             // KeyClusterNetwork
	VariableServiceNetwork = "OVN_SVC_CIDR"             // KeyServiceNetwork
	VariableMTU            = "OVN_MTU"                  // KeyMTU
	VariableMultiNetwork   = "OVN_MULTI_NETWORK_ENABLE" // true if pods may have additional networks
	VariableTunnelPort     = "OVN_ENCAP_PORT"           // the UDP port of Geneve
	VariableGatewayMode    = "OVN_GATEWAY_MODE"         // GatewayLocal
	VariablePod            = "POD_NAME"                 // of ovn-node and ovn-ipsec: the name of the pod
	VariableLogLevel       = "OVNKUBE_LOGLEVEL"         // info or debug
	VariableHealth         = "OVNKUBE_HEALTH_ADDR"      // of ovn-node and ovn-master: the address of /healthz, /readyz and /metrics
)

// GatewayLocal is the gateway mode in which pods leave the cluster through the management port and the routing table of their node.
const GatewayLocal = "local"

const (
	// SouthPort is the TCP port of the southbound database on the leading master, with TLS.
	SouthPort = 6642
	// HealthNode is the address on a node at which ovn-node serves /healthz, /readyz and /metrics.
	HealthNode = "127.0.0.1:19105"
	// HealthMaster is the same for ovn-master.
	HealthMaster = "127.0.0.1:19106"
)

// Directories and sockets, in containers and on nodes. Daemons get the sockets with --unixctl and --remote; probes use them.
const (
	SwitchRunDir   = "/var/run/openvswitch" // db.sock, ovs-vswitchd.ctl
	SwitchDataDir  = "/var/lib/openvswitch"
	RunDir         = "/var/run/ovn"
	DataDir        = "/var/lib/ovn"                // the databases of masters
	ServerDir      = "/var/run/ovn-kubernetes"     // the socket of the CNI plugin
	StateDir       = "/var/lib/cno/ovn-kubernetes" // state of ovn-node
	HostPluginDir  = "/host/opt/cni/bin"           // the node's /opt/cni/bin
	PluginConfDir  = "/etc/cni/net.d"
	CertificateDir = "/ovn-cert" // tls.crt, tls.key
	CADir          = "/ovn-ca"   // ca-bundle.crt

	NorthSocket       = RunDir + "/ovnnb_db.sock"
	SouthSocket       = RunDir + "/ovnsb_db.sock"
	NorthdControl     = RunDir + "/ovn-northd.ctl"
	ControllerControl = RunDir + "/ovn-controller.ctl"
	SwitchSocket      = SwitchRunDir + "/db.sock"
	SwitchControl     = SwitchRunDir + "/ovs-vswitchd.ctl"
)
