package hostnetworkconfig

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// condition sets a condition and its transition time.
func (c *Controller) condition(config *networkv1.HostNetworkConfig, status *networkv1.HostNetworkConfigStatus, condition metav1.Condition) {
	condition.ObservedGeneration = config.Generation
	condition.LastTransitionTime = metav1.NewTime(c.Now())
	meta.SetStatusCondition(&status.Conditions, condition)
}

// appliedBy returns the condition Applied. stop is the reason why the rollout has stopped; empty if it has not.
func appliedBy(status *networkv1.HostNetworkConfigStatus, stop string) metav1.Condition {
	out := metav1.Condition{Type: networkv1.ConditionApplied, Status: metav1.ConditionFalse}
	count := fmt.Sprintf("%d of %d nodes have applied their document", status.AppliedNodes, status.Nodes)
	switch {
	case status.FailedNodes > 0:
		out.Reason, out.Message = "NodesFailed", count+"; "+failures(status)
		if stop != "" {
			out.Message += "; " + stop
		}
	case status.AppliedNodes < status.Nodes:
		out.Reason, out.Message = "NodesPending", count
	case status.Nodes == 0:
		out.Reason, out.Message = "NoNodes", "no node has the role"
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, "AsExpected", count
	}
	return out
}

// failures lists the first failed nodes with their messages.
func failures(status *networkv1.HostNetworkConfigStatus) string {
	const most = 3
	var messages []string
	for _, host := range status.Hosts {
		if host.Result == networkv1.Failed || host.Result == networkv1.RolledBack {
			messages = append(messages, fmt.Sprintf("%s: %s", host.Node, host.Message))
		}
	}
	return phrase.Clauses(messages, most)
}

// rendered returns the condition Rendered.
func rendered(failed []string, note string) metav1.Condition {
	if len(failed) > 0 {
		return metav1.Condition{Type: networkv1.ConditionRendered, Status: metav1.ConditionFalse, Reason: "ApplyFailed", Message: strings.Join(failed, "\n")}
	}
	return metav1.Condition{Type: networkv1.ConditionRendered, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: note}
}
