package clusterconfig

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the component of this controller's findings.
const component = "ClusterConfig"

// conditionSynced is the condition of Network.config that reports whether Network.operator has the same values. NetworkConfig has a
// condition of the same type.
const conditionSynced = "Synced"

// Reasons of findings, conditions and events.
const (
	reasonInfra   = "InfraStatusError"
	reasonInvalid = "InvalidClusterConfig"
	reasonApply   = "ApplyOperatorConfig"
	// reasonUnsafe is the reason of the condition and the event for an unsafe change; the finding has reasonInvalid.
	reasonUnsafe = "UnsafeClusterConfig"
	// reasonUnread is the reason of the condition while the record of the applied configuration is unreadable.
	reasonUnread = "AppliedConfigUnreadable"
	// eventFollowed is the reason of the event after Network.operator was changed.
	eventFollowed = "ClusterConfigFollowed"
)

// maxMessage is the API server's limit for the message of a condition, in bytes.
const maxMessage = 32768

// problem is the reason and message of a failed check; zero means no problem.
type problem struct{ reason, message string }

// problemOf returns the problem of a decision; zero if there is none.
func problemOf(v decision) problem {
	const edit = "Use 'kubectl edit network.config.openshift.io cluster' to"
	switch {
	case len(v.invalid) > 0:
		lines := make([]string, len(v.invalid))
		for i, e := range v.invalid {
			lines[i] = e.Field + ": " + pipeline.Message(e)
			if e.Detail == "" {
				lines[i] = e.Error()
			}
		}
		return problem{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%s). %s fix.", strings.Join(lines, "; "), edit)}
	case v.unsafe:
		return problem{reasonUnsafe, fmt.Sprintf("The cluster configuration is invalid (it would be an unsafe change of the network: %s). %s undo the change. Network.operator keeps what was accepted last.", v.refused, edit)}
	case len(v.refused) > 0:
		return problem{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%s). %s fix.", v.refused, edit)}
	}
	return problem{}
}

// condition returns the condition for Network.config. It has no generation, because the kind counts writes of the status, too.
func condition(t problem) metav1.Condition {
	c := metav1.Condition{Type: conditionSynced, Status: metav1.ConditionTrue, Reason: status.AsExpected, Message: "Network.operator.openshift.io/cluster has the same values"}
	if t != (problem{}) {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, t.reason, truncate(t.message)
	}
	return c
}

// findings returns the findings for the cluster's status.
func findings(t problem) []status.Finding {
	switch t.reason {
	case "", reasonUnread: // the network controller reports an unreadable record
		return nil
	case reasonUnsafe:
		t.reason = reasonInvalid
	}
	// An invalid configuration does not become valid without a change.
	wrong := t.reason == reasonInvalid
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: t.reason, Message: t.message, Immediate: wrong},
		{Component: component, Effect: status.NotUpgradeable, Reason: t.reason, Message: t.message, Immediate: wrong},
	}
}

// recordUnreadable returns the problem of an unreadable record.
func recordUnreadable(err error) problem {
	return problem{reasonUnread, fmt.Sprintf("Whether the configuration may be changed cannot be determined: %v", err)}
}

// rejectedByServer returns the problem of a configuration that the API server rejects for Network.operator.
func rejectedByServer(err error) problem {
	return problem{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%v). Use 'kubectl edit network.config.openshift.io cluster' to fix.", err)}
}

// truncate limits the message of a condition.
func truncate(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}

// followedMessage returns the message of the event after fields of Network.operator have changed.
func followedMessage(fields []string) string {
	if len(fields) == 0 {
		return fmt.Sprintf("Network.operator.openshift.io/cluster has the annotation %s", pipeline.AcknowledgeAnnotation)
	}
	return fmt.Sprintf("Network.operator.openshift.io/cluster now has the same values in %s", strings.Join(fields, ", "))
}
