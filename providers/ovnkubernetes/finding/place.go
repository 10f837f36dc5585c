package finding

import (
	"fmt"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Place is the place of a difference, which determines the remedy.
type Place string

// Places of differences.
const (
	// Annotations are the annotations of Nodes and Pods that the master writes.
	Annotations Place = "annotations"
	// Northbound has the rows of the northbound database, which the master writes.
	Northbound Place = "northbound database"
	// Southbound has the rows of the southbound database, which ovn-northd writes.
	Southbound Place = "southbound database"
	// Chassis has the rows of nodes in the southbound database, which the master and ovn-controller write.
	Chassis Place = "chassis"
	// Bindings are the assignments of logical ports to nodes, which ovn-controller writes.
	Bindings Place = "port bindings"
	// Records are the agent's files about sandboxes.
	Records Place = "CNI records"
	// Ports are the ports of pods and of the node in Open vSwitch, and its configuration, which the agent writes.
	Ports Place = "Open vSwitch"
	// Links are the interfaces of pods on the node.
	Links Place = "interfaces"
	// Management has the address and the routes of the management port, and the rules for source addresses.
	Management Place = "management port"
	// Tunnels are the ports to other nodes. Flows are those of ovn-controller.
	Tunnels Place = "tunnels"
	Flows   Place = "flows"
	// IPsec has the reports of the IPsec agents.
	IPsec Place = "IPsec"
)

// WayOut returns the remedy for findings of a place; empty for an unknown place.
func (p Place) WayOut() string {
	logs := func(app, container string) string {
		return fmt.Sprintf("kubectl -n %s logs -l app=%s -c %s --tail=100 --prefix", agentconfig.Namespace, app, container)
	}
	switch p {
	case Annotations:
		return "the leading ovn-master writes them; its log has the reason why it does not: " + logs("ovnkube-master", agentconfig.CommandMaster)
	case Northbound:
		return "the leading ovn-master repairs its rows within five minutes; if they stay, its log has the reason: " + logs("ovnkube-master", agentconfig.CommandMaster)
	case Southbound:
		return "ovn-northd in the pod of the leading ovn-master writes these rows; if they stay, restart it by deleting the pod of ovnkube-master on that node, which affects no packet; its log: " + logs("ovnkube-master", agentconfig.CommandNorthd)
	case Chassis:
		return "the leading ovn-master repairs them within 30 seconds; if they stay, its log has the reason: " + logs("ovnkube-master", agentconfig.CommandMaster)
	case Bindings:
		return "ovn-controller of that node writes them; its log has the reason why it does not: " + logs("ovnkube", agentconfig.CommandController)
	case Records:
		return "the container runtime removes unused sandboxes, and the agent removes those without a network namespace when it starts; a pod without a record was started by another network: delete it, so that it is started again"
	case Ports:
		return "ovn-node of that node repairs them within ten seconds; if they stay, its log has the reason: " + logs("ovnkube", agentconfig.CommandNode)
	case Links:
		return "remove the interface on the node: ip -n ovs link delete NAME (without -n ovs where the node uses the kernel's datapath)"
	case Management:
		return "ovn-node of that node repairs it within ten seconds; if it stays, its log names the process that changes it:  " + logs("ovnkube", agentconfig.CommandNode)
	case Tunnels:
		return "ovn-controller of that node makes them from the chassis of other nodes; if they stay, remove a stale one in its container: ovs-vsctl del-port " + topology.IntegrationBridge + " NAME; its log: " + logs("ovnkube", agentconfig.CommandController)
	case Flows:
		return fmt.Sprintf("restart ovn-controller of that node, which replaces its flows and loses no packet: kubectl -n %s exec POD -c %s -- ovn-appctl -t %s exit --restart",
			agentconfig.Namespace, agentconfig.CommandController, agentconfig.ControllerControl)
	case IPsec:
		return "read why in the log of the agent, " + logs("ovn-ipsec", agentconfig.CommandIPsec) + "; UDP ports 500 and 4500 must be open between all nodes (runbook NetworkOVNIPsecPeersMissing)"
	}
	return ""
}
