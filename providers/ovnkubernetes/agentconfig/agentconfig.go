// Package agentconfig has what the operator and the containers of OVN-Kubernetes agree on beside the topology: commands, variables, ports,
// directories and sockets. The operator renders them into DaemonSets, /usr/bin/ovnkube.sh and ovnkube use them. It is pure.
package agentconfig

const (
	// Namespace has all objects of the network.
	Namespace = "openshift-ovn-kubernetes"
	// Lease is the lease in Namespace that the leading master holds.
	Lease = "ovn-kubernetes-master"
	// PKI is the OperatorPKI in Namespace, and the common name of its certificate. Its Secret and its ConfigMap are mounted at CertificateDir
	// and AuthorityDir.
	PKI = "ovn"
	// ConfigMap is the ConfigMap in Namespace from which containers have their configuration, by the keys below.
	ConfigMap = "ovn-config"
)

// The keys of ConfigMap.
const (
	// KeyNorth is where masters reach the northbound database: unix:PATH.
	KeyNorth = "OvnNorth"
	// KeySouth is where nodes reach the southbound database: ssl:ADDRESS:6642 of every control-plane node, separated by commas. Only the
	// leading master listens there.
	KeySouth = "OvnSouth"
	// KeyAPIServer is the URL of the API server.
	KeyAPIServer = "k8s_apiserver"
	// KeyClusterNetwork is the pools of the cluster network: CIDR/LENGTH, separated by commas, with the length of a node's block.
	KeyClusterNetwork = "net_cidr"
	// KeyServiceNetwork is the Service CIDRs, separated by commas.
	KeyServiceNetwork = "svc_cidr"
)

// Script is what containers run, with one of the commands below as its only argument.
const Script = "/usr/bin/ovnkube.sh"

// The commands, each of which is the name of a process.
const (
	CommandSwitch     = "ovs-server"     // ovsdb-server and ovs-vswitchd, in container ovs-daemons
	CommandController = "ovn-controller" // OVN's agent on each node
	CommandNode       = "ovn-node"       // ovnkube on each node
	CommandNorth      = "nb-ovsdb"       // the northbound database, on masters
	CommandSouth      = "sb-ovsdb"       // the southbound database, on masters
	CommandNorthd     = "run-ovn-northd" // ovn-northd, on masters
	CommandMaster     = "ovn-master"     // ovnkube on masters
)

// The commands that compare what there is with the Kubernetes API, in containers CommandMaster and CommandNode. With FlagJSON they print a report of
// package finding.
const (
	CommandCheckMaster = "check-master"
	CommandCheckNode   = "check-node"
	FlagJSON           = "json"
)

// The variables of all containers.
const (
	VariableNode           = "K8S_NODE"                 // the name of the node
	VariableNodeAddress    = "K8S_NODE_IP"              // its internal address
	VariableAPIServer      = "K8S_APISERVER"            // KeyAPIServer
	VariableNorth          = "OVN_NORTH"                // KeyNorth
	VariableSouth          = "OVN_SOUTH"                // KeySouth
	VariableClusterNetwork = "OVN_NET_CIDR"             // KeyClusterNetwork
	VariableServiceNetwork = "OVN_SVC_CIDR"             // KeyServiceNetwork
	VariableMTU            = "OVN_MTU"                  // KeyMTU
	VariableMultiNetwork   = "OVN_MULTI_NETWORK_ENABLE" // true if pods may have further networks
	VariableTunnelPort     = "OVN_ENCAP_PORT"           // the UDP port of Geneve
	VariableGatewayMode    = "OVN_GATEWAY_MODE"         // GatewayLocal
	VariablePod            = "POD_NAME"                 // of ovn-node and ovn-ipsec: the name of the pod
	VariableLogLevel       = "OVNKUBE_LOGLEVEL"         // info or debug
	VariableHealth         = "OVNKUBE_HEALTH_ADDR"      // of ovn-node and ovn-master: the address of /healthz, /readyz and /metrics
)

// GatewayLocal is the gateway mode in which pods leave the cluster through the management port and the routing table of their node.
const GatewayLocal = "local"

const (
	// SouthPort is the TCP port of masters on which the leading one serves the southbound database over TLS.
	SouthPort = 6642
	// HealthNode is the address of a node on which ovn-node serves /healthz, /readyz and /metrics.
	HealthNode = "127.0.0.1:19105"
	// HealthMaster is that of ovn-master.
	HealthMaster = "127.0.0.1:19106"
)

// Directories and sockets, in containers and on nodes. Probes use the sockets: daemons get them with --unixctl and --remote.
const (
	SwitchRunDir   = "/var/run/openvswitch" // db.sock, ovs-vswitchd.ctl
	SwitchDataDir  = "/var/lib/openvswitch"
	RunDir         = "/var/run/ovn"
	DataDir        = "/var/lib/ovn"                // the databases of masters
	ServerDir      = "/var/run/ovn-kubernetes"     // the socket of the CNI plugin
	StateDir       = "/var/lib/cno/ovn-kubernetes" // what ovn-node keeps
	HostPluginDir  = "/host/opt/cni/bin"           // the node's /opt/cni/bin
	PluginConfDir  = "/etc/cni/net.d"
	CertificateDir = "/ovn-cert" // tls.crt, tls.key
	AuthorityDir   = "/ovn-ca"   // ca-bundle.crt

	NorthSocket       = RunDir + "/ovnnb_db.sock"
	SouthSocket       = RunDir + "/ovnsb_db.sock"
	NorthdControl     = RunDir + "/ovn-northd.ctl"
	ControllerControl = RunDir + "/ovn-controller.ctl"
	SwitchSocket      = SwitchRunDir + "/db.sock"
	SwitchControl     = SwitchRunDir + "/ovs-vswitchd.ctl"
)
