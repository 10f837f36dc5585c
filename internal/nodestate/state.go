// Package nodestate computes what users are shown of a node: its worst problem, its blocks of pod addresses, and the agents of the network on it. The objects of
// nodes (internal/controller/networknode) and the pages of cno ui both use it, so that they cannot disagree.
package nodestate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// State is the state of a node: its worst problem. The values are those in the JSON of cno ui.
type State string

// The states, the most severe first. A pod of an agent that is not ready comes before that the node is unreachable, since it is the more likely cause.
const (
	// NotReady is a node whose kubelet reports that it is not ready, or does not report.
	NotReady State = "not-ready"
	// AgentNotReady is a node on which a pod of the network is not ready.
	AgentNotReady State = "agent-not-ready"
	// Unreachable is a node that pods on other nodes cannot reach.
	Unreachable State = "unreachable"
	// FightDetected is a node on which a third party repeatedly changes what an agent restores.
	FightDetected State = "fight-detected"
	// HostNetworkFailed is a node that could not apply the network configuration of its host.
	HostNetworkFailed State = "host-network-failed"
	// Cordoned is a node that works, and gets no new pods.
	Cordoned State = "cordoned"
	// Ready is a node that works.
	Ready State = "ready"
)

// reasons are the reasons of the condition Ready of a NetworkNode.
var reasons = map[State]string{
	NotReady: "NodeNotReady", AgentNotReady: "AgentNotReady", Unreachable: "NodeUnreachable", FightDetected: fight.Reason, HostNetworkFailed: "HostNetworkFailed",
	Cordoned: "Cordoned", Ready: status.AsExpected,
}

// Reason returns the CamelCase reason of the state.
func (s State) Reason() string { return reasons[s] }

// Works reports whether the network works on a node in this state.
func (s State) Works() bool { return s == Ready || s == Cordoned }

// maxWhy is the maximum length of a cause in bytes, since parts of it are texts of kubelets, agents and hosts.
const maxWhy = 1000

// state returns the state of a node with its cause, which is empty for Ready.
func (c *Cluster) state(n *corev1.Node, pods *Pods) (State, string) {
	ready, reported := readyCondition(n)
	switch {
	case !reported:
		return NotReady, "its kubelet has never reported"
	case ready.Status != corev1.ConditionTrue:
		why := strings.Trim(ready.Reason+": "+ready.Message, ": ")
		// A kubelet that answers may only wait for the network, so that its pods are the cause. What is known of pods on other nodes is outdated.
		if ready.Status == corev1.ConditionFalse && len(pods.waiting) > 0 {
			why = status.Describe(pods.waiting) + "; " + why
		}
		return NotReady, truncate(why)
	case len(pods.waiting) > 0:
		return AgentNotReady, truncate(status.Describe(pods.waiting))
	case c.Unreachable[n.Name] != "":
		return Unreachable, truncate(c.Unreachable[n.Name])
	case len(c.Fights[n.Name]) > 0:
		return FightDetected, truncate(phrase.Clauses(c.Fights[n.Name], maxFights))
	case c.Hosts[n.Name] != "":
		return HostNetworkFailed, truncate(c.Hosts[n.Name])
	case n.Spec.Unschedulable:
		return Cordoned, "it is cordoned"
	}
	return Ready, ""
}

// maxFights is the maximum number of fights in a cause; the others are counted.
const maxFights = 3

// readyCondition returns the condition Ready of a Node; false if it has none.
func readyCondition(n *corev1.Node) (corev1.NodeCondition, bool) {
	i := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.NodeCondition{}, false
	}
	return n.Status.Conditions[i], true
}

// Changed reports whether two versions of a Node differ in anything that Of reads. A kubelet updates its Node at least every five minutes, usually without such a
// change.
func (c *Cluster) Changed(before, after *corev1.Node) bool {
	was, had := readyCondition(before)
	is, has := readyCondition(after)
	return had != has || was.Status != is.Status || was.Reason != is.Reason || was.Message != is.Message || before.Spec.Unschedulable != after.Spec.Unschedulable ||
		!slices.Equal(c.Blocks(before), c.Blocks(after))
}

func truncate(text string) string {
	if len(text) <= maxWhy {
		return text
	}
	return strings.ToValidUTF8(text[:maxWhy], "") + "..."
}
