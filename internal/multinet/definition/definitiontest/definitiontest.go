// Package definitiontest is a table of NetworkAttachmentDefinitions that try to get more than their authors may have, for tests of everything that must refuse them.
package definitiontest

import (
	"strings"

	"github.com/cluster-network-operator/cno/internal/multinet/definition"
)

// Cluster is what hostile definitions are about. All fields are required.
type Cluster struct {
	// Namespace is that of the definitions.
	Namespace string
	// Network, Bridge and Plugin are the pod network's name in its CNI configuration, its bridge, and a plugin with which the agents of pod networks are called.
	Network, Bridge, Plugin string
	// Uplink is an interface with an address of each node, and Master another one that restricted definitions may use.
	Uplink, Master string
	// Pod, Service and Node are addresses of these.
	Pod, Service, Node string
}

// Row is a definition that is refused.
type Row struct {
	Why, Config string
	// Want is in the error.
	Want string
	// Restricted is true if only restricted definitions are refused.
	Restricted bool
}

// Hostile returns what a definition could do to a node, or to other pods. Each row has the reason for which it is refused.
func Hostile(c Cluster) []Row {
	fill := strings.NewReplacer("$network", c.Network, "$bridge", c.Bridge, "$plugin", c.Plugin, "$uplink", c.Uplink, "$master", c.Master,
		"$pod", c.Pod, "$service", c.Service, "$node", c.Node, "$prefix", definition.BridgePrefix(c.Namespace))
	var all []Row
	for _, row := range hostile {
		row.Config = fill.Replace(row.Config)
		all = append(all, row)
	}
	return all
}

// hostile are the rows, with variables for what differs between clusters.
var hostile = []Row{
	{"takes the node's only interface", `{"type":"host-device","device":"$uplink"}`, "would lose it", false},
	{"by its hardware address", `{"type":"host-device","hwaddr":"02:00:00:00:00:01"}`, "cannot be checked", false},
	{"by its place on the bus", `{"type":"host-device","pciBusID":"0000:00:01.0"}`, "cannot be checked", false},
	{"takes all packets of the node's interface", `{"type":"macvlan","mode":"passthru","master":"$uplink"}`, "would lose it", false},
	{"the same, in other letters", `{"type":"macvlan","mode":"PassThru","master":"$uplink"}`, "would lose it", false},
	{"the same, by the plugin's default", `{"type":"macvlan","mode":"passthru"}`, "must be set with mode passthru", false},
	{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"mode":"Passthru","master":"$uplink"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "would lose it", false},
	{"an egress router without an address", `{"type":"egress-router","ip":{"gateway":"198.51.100.1"}}`, "spec.config.ip.addresses", false},
	{"joins the pod network", `{"type":"bridge","bridge":"$bridge","ipam":{"type":"static","addresses":[{"address":"$pod/24"}]}}`, "bridge of the pod network", false},
	{"the same, by the plugin's default", `{"type":"bridge"}`, "bridge of the pod network", false},
	{"shares the address records of the pod network", `{"name":"$network","type":"bridge","bridge":"b","ipam":{"type":"host-local"}}`, "name of the pod network", false},
	{"writes files as root", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/etc/cron.d"}}`, "/var/lib/cni/networks", false},
	{"reserves addresses of pods, which are the names of files", `{"name":"10.128.0.5","type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks/$network"}}`, "ipam.dataDir: Invalid", false},
	{"the same, by tuning", `{"name":"10.128.0.5","type":"tuning","dataDir":"/var/lib/cni/networks/$network"}`, "config.dataDir: Forbidden", false},
	{"the directory of records, by another plugin", `{"type":"tuning","dataDir":"/var/lib/cni/networks"}`, "config.dataDir: Forbidden", false},
	{"name servers of another file", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","resolvConf":"/etc/resolv.conf/x"}}`, "ipam.resolvConf: Invalid", false},
	{"the same, by dots", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks/../../../../etc"}}`, "/var/lib/cni/networks", false},
	{"the same, in other letters", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","DataDir":"/etc/cron.d"}}`, "only in its letters", false},
	{"the same, with the long s", `{"type":"macvlan","master":"$master","ma` + "\u017f" + `ter":"$uplink"}`, "only in its letters", false},
	{"the same, escaped", `{"type":"macvlan","master":"$master","m\u0041ster":"$uplink"}`, "only in its letters", false},
	{"a repeated key", `{"type":"tap","type":"bridge"}`, "repeated", false},
	{"reads a file as name servers", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","resolvConf":"/etc/shadow"}}`, "/etc/resolv.conf", false},
	{"acts as the node in the API", `{"type":"x","kubeconfig":"/var/lib/kubelet/kubeconfig"}`, "cannot name files", false},
	{"the same, deeper", `{"type":"x","ipam":{"type":"whereabouts","kubernetes":{"kubeconfig":"/k"}}}`, "cannot name files", false},
	{"writes a log over a file", `{"type":"x","logFile":"/etc/passwd"}`, "config.logFile", false},
	{"the same, in the spelling of others", `{"type":"x","log_file":"/etc/passwd"}`, "config.log_file", false},
	{"talks to a socket of its choice", `{"type":"x","socketPath":"/run/containerd/containerd.sock"}`, "cannot name files", false},
	{"the same, by the key of the shim", `{"type":"macvlan","master":"$master","socket":"/run/containerd/containerd.sock","ipam":{"type":"whereabouts","range":"192.0.3.0/24"}}`, "config.socket", false},
	{"the same, by the key of Open vSwitch", `{"type":"x","socket_file":"unix:/run/openvswitch/db.sock"}`, "config.socket_file", false},
	{"calls the agent of the pod network", `{"type":"$plugin"}`, "cannot be used", false},
	{"the same, as an address manager", `{"type":"tap","ipam":{"type":"$plugin"}}`, "cannot be used", false},
	{"runs a program outside of the directory", `{"type":"../../bin/sh"}`, "plain name", false},
	{"the same, as an address manager", `{"type":"tap","ipam":{"type":"/bin/sh"}}`, "plain name", false},
	{"calls the shim again", `{"type":"multus-shim","delegate":{"name":"x","type":"tap"}}`, "cannot be used", false},
	{"claims an address that it does not have", `{"type":"tuning","prevResult":{"ips":[{"address":"$pod/24"}]}}`, "cannot be part", false},
	{"in a list, too", `{"plugins":[{"type":"tuning","prevResult":{}}]}`, "plugins[0].prevResult", false},
	{"gives itself values of the runtime", `{"type":"x","runtimeConfig":{"ips":["$pod/24"]}}`, "cannot be part", false},
	{"a range that has no addresses", `{"type":"tap","ipam":{"type":"whereabouts","range":"192.0.2.0/24","exclude":["192.0.2.0/24"],"first":"x"}}`, "ipam", false},
	{"a name with a path", `{"name":"../pods","type":"tap"}`, "must be letters", false},
	{"adds plugins of files", `{"loadOnlyInlinedPlugins":false,"plugins":[{"type":"tap"}]}`, "not added", false},
	{"plugins that are no list", `{"plugins":{"type":"tap"}}`, "at least one plugin", false},
	{"a plugin that is null", `{"plugins":[null]}`, "not an object", false},
	{"a plugin whose name is a list", `{"type":[]}`, "must be the name of a CNI plugin", false},
	{"a plugin whose name is an object", `{"type":{}}`, "must be the name of a CNI plugin", false},
	{"the same, in a list", `{"plugins":[{"type":[]}]}`, "plugins[0].type", false},
	{"an address manager whose name is a list", `{"type":"tap","ipam":{"type":[]}}`, "config.ipam.type", false},
	{"no plugin", `{"name":"x"}`, "must be the name of a CNI plugin", false},
	{"too large", `{"type":"` + strings.Repeat("x", definition.MaxSize) + `"}`, "at most", false},
	{"not an object", `[]`, "not a JSON object", false},
	{"null", `null`, "not a JSON object", false},
	{"another plugin", `{"type":"ptp"}`, "supported values", true},
	{"another master", `{"type":"macvlan","master":"$uplink"}`, "restricted.masters", true},
	{"the default route's master", `{"type":"macvlan"}`, "restricted.masters", true},
	{"takes all packets of a master that tenants share", `{"type":"macvlan","master":"$master","mode":"Passthru"}`, "from the pods of all other namespaces", true},
	{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"mode":"passthru","master":"$master"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "interfaceArgs.mode: Forbidden", true},
	{"a master in the pod, which has the name of one of the node", `{"type":"macvlan","master":"$master","linkInContainer":true}`, "config.linkInContainer", true},
	{"an egress router on another master", `{"type":"egress-router","ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "restricted.masters", true},
	{"an egress router with the address of a pod", `{"type":"egress-router","interfaceArgs":{"master":"$master"},"ip":{"addresses":["$pod/24"],"gateway":"10.128.0.1"}}`, "which the cluster uses", true},
	{"a bridge of another namespace", `{"type":"bridge","bridge":"br000000-x"}`, "must begin with", true},
	{"a gateway on the node", `{"type":"bridge","bridge":"$prefixx","isGateway":true}`, "node itself", true},
	{"the same, in other letters", `{"type":"bridge","bridge":"$prefixx","isgateway":true}`, `write "isGateway"`, true},
	{"the default gateway, in other letters", `{"type":"bridge","bridge":"$prefixx","isDefaultgateway":true}`, `write "isDefaultGateway"`, true},
	{"the node's own addresses as source, in other letters", `{"type":"bridge","bridge":"$prefixx","ipmasq":true}`, `write "ipMasq"`, true},
	{"the same, with the long s", `{"type":"bridge","bridge":"$prefixx","ipMa` + "\u017f" + `q":true}`, `write "ipMasq"`, true},
	{"addresses of the node alone", `{"type":"macvlan","master":"$master","ipam":{"type":"host-local"}}`, "supported values", true},
	{"the address of a pod", `{"type":"macvlan","master":"$master","ipam":{"type":"static","addresses":[{"address":"$pod/24"}]}}`, "which the cluster uses", true},
	{"the same, by arguments, which static prefers", `{"type":"macvlan","master":"$master","args":{"cni":{"ips":["$pod/14"]}},"ipam":{"type":"static"}}`, "config.args.cni.ips", true},
	{"the same, mapped into IPv6", `{"type":"macvlan","master":"$master","ipam":{"type":"static","addresses":[{"address":"::ffff:$pod/120"}]}}`, "which the cluster uses", true},
	{"a range of Services", `{"type":"macvlan","master":"$master","ipam":{"type":"whereabouts","range":"$service-$service/16"}}`, "which the cluster uses", true},
	{"the address of a pod, in the network of all addresses", `{"type":"macvlan","master":"$master","ipam":{"type":"static","addresses":[{"address":"$pod/0"}]}}`, "which the cluster uses", true},
	{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"master":"$master"},"ip":{"addresses":["$pod/0"],"gateway":"10.128.0.1"}}`, "which the cluster uses", true},
	{"a range of all addresses, of which those of pods are the lowest left", `{"type":"macvlan","master":"$master","ipam":{"type":"whereabouts","range":"0.0.0.0/0","exclude":["0.0.0.0/5","8.0.0.0/7","10.0.0.0/9"]}}`, "config.ipam.range: Invalid", true},
	{"the same, for IPv6", `{"type":"macvlan","master":"$master","ipam":{"type":"whereabouts","range":"::/0"}}`, "config.ipam.range: Invalid", true},
	{"a range of IPv6 with the mapped addresses of pods", `{"type":"macvlan","master":"$master","ipam":{"type":"static","addresses":[{"address":"::5/64"}]}}`, "which the cluster uses", true},
	{"a default route by way of a pod", `{"type":"macvlan","master":"$master","ipam":{"type":"static","routes":[{"dst":"0.0.0.0/0","gw":"$pod"}]}}`, "routes[0].gw", true},
	{"a default route that is spelled as a pod", `{"type":"macvlan","master":"$master","ipam":{"type":"static","routes":[{"dst":"$pod/0"}]}}`, "routes[0].dst", true},
	{"an address that is spelled as the destination of a route", `{"type":"macvlan","master":"$master","args":{"dst":"0.0.0.0/0"}}`, "config.args.dst", true},
	{"a route to the nodes", `{"type":"macvlan","master":"$master","ipam":{"type":"static","routes":[{"dst":"$node/32"}]}}`, "which the cluster uses", true},
}
