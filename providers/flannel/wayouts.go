package flannel

import "github.com/cluster-network-operator/cno/internal/status"

// wayOuts are the remedies for the reasons of the condition FlannelDegraded, as in docs/providers/flannel.md.
func wayOuts() []status.WayOut {
	return []status.WayOut{
		{Reason: "PeersOffLink", Do: "set interface to one that all nodes share, or install with vxlan"},
		{Reason: "PeersOtherBackend", Do: "wait for the rollout; delete the remaining pods of flanneld"},
		{Reason: "ConflictingCNI", Do: "remove the file, or the component that writes it"},
		{Reason: "PodsDetached", Do: "delete these pods, or drain the node; kubectl get pods -A --field-selector spec.nodeName=NODE shows their age"},
		{Reason: "AgentErrors", Do: "for a rejected lease: inspect the node with that address, and delete the key; for an address of etcd: allow this TCP port in the firewalls between the two nodes"},
		{Reason: "AgentSilent", Do: "kubectl -n openshift-flannel logs of their pods names the addresses that they try; allow these TCP ports in the firewalls between the nodes"},
		{Reason: "NodeNameContested", Do: "stop one of the machines named by their addresses"},
		{Reason: "EtcdUnreachable", Do: "start its members, or allow their TCP ports in the firewalls of their nodes; for an external etcd check network, certificate and CA"},
		{Reason: "EtcdMemberDown", Do: "inspect its pod; delete the Node object of a node that is permanently lost"},
		{Reason: "EtcdTwoMembers", Do: "add a control-plane node, which then gets a third member"},
		{Reason: "EtcdQuorumLost", Do: "follow \"If etcd has lost its quorum\" in docs/providers/flannel.md"},
		{Reason: "EtcdNoSpace", Do: "nothing while the operator repairs it; start members that do not respond; if it persists, follow \"If etcd is full\" in docs/providers/flannel.md"},
		{Reason: "EtcdUpkeepFailed", Do: "inspect the pod of that member and the disk of its node"},
		{Reason: "EtcdPrefixInUse", Do: "choose another etcd.prefix; if the nodes named no longer exist, delete their leases"},
		{Reason: "EtcdCredentials", Do: "create it as described in the message"},
		{Reason: "EtcdValues", Do: "delete the key; its node writes it again"},
		{Reason: "FlannelControllerError", Do: "the message names it; check the operator's role"},
		{Reason: "PoolExhausted", Do: "delete Node objects that are no longer needed, or enlarge the pool"},
	}
}
