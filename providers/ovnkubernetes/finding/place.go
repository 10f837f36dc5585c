package finding

import (
	"fmt"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Place is where something does not agree. It decides who repairs it.
type Place string

// The places.
const (
	// Annotations are those of Nodes and Pods that the master writes.
	Annotations Place = "annotations"
	// Northbound are the rows of the northbound database, which the master writes.
	Northbound Place = "northbound database"
	// Southbound are the rows of the southbound database, which ovn-northd writes.
	Southbound Place = "southbound database"
	// Chassis are the rows of nodes in the southbound database, which the master and ovn-controller write.
	Chassis Place = "chassis"
	// Bindings are which node has which logical port, which ovn-controller writes.
	Bindings Place = "port bindings"
	// Records are the files of the agent about sandboxes.
	Records Place = "CNI records"
	// Ports are those of pods and of the node in Open vSwitch, and its configuration, which the agent writes.
	Ports Place = "Open vSwitch"
	// Links are interfaces of pods on the node.
	Links Place = "interfaces"
	// Management are the address and the routes of the management port, and the rules for source addresses.
	Management Place = "management port"
	// Tunnels are the ports to other nodes, Flows what ovn-controller has programmed.
	Tunnels Place = "tunnels"
	Flows   Place = "flows"
	// IPsec is what the agents of IPsec report.
	IPsec Place = "IPsec"
)

// WayOut is what to do about findings of a place; empty for a place that is not known.
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
		return "ovn-northd beside the leading ovn-master writes these rows; if they stay, restart it by deleting the pod of ovnkube-master on that node, which affects no packet; its log: " + logs("ovnkube-master", agentconfig.CommandNorthd)
	case Chassis:
		return "the leading ovn-master repairs them within 30 seconds; if they stay, its log has the reason: " + logs("ovnkube-master", agentconfig.CommandMaster)
	case Bindings:
		return "ovn-controller of that node writes them; its log has the reason why it does not: " + logs("ovnkube", agentconfig.CommandController)
	case Records:
		return "the container runtime ends sandboxes that are not needed, and the agent removes those whose network namespace is gone when it starts; a pod without a record was started by another network: delete it, so that it is started again"
	case Ports:
		return "ovn-node of that node repairs them within ten seconds; if they stay, its log has the reason: " + logs("ovnkube", agentconfig.CommandNode)
	case Links:
		return "remove the interface on the node: ip -n ovs link delete NAME (without -n ovs where the node uses the kernel's datapath)"
	case Management:
		return "ovn-node of that node repairs it within ten seconds; if it stays, its log names who changes it: " + logs("ovnkube", agentconfig.CommandNode)
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
