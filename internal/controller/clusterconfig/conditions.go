package clusterconfig

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the name of this controller's level in the conditions of the cluster.
const component = "ClusterConfig"

// conditionSynced is the condition of Network.config that says whether Network.operator says the same. It is the one that
// NetworkConfig, the short form, has, too.
const conditionSynced = "Synced"

// Reasons of findings, conditions and events.
const (
	reasonInfra   = "InfraStatusError"
	reasonInvalid = "InvalidClusterConfig"
	reasonApply   = "ApplyOperatorConfig"
	// reasonUnsafe is that of the condition and the event for a change that may not be made any more; the finding has
	// reasonInvalid.
	reasonUnsafe = "UnsafeClusterConfig"
	// reasonUnread is that of the condition while no one knows what is applied.
	reasonUnread = "AppliedConfigUnreadable"
	// eventFollowed is that of the event after a change was written down.
	eventFollowed = "ClusterConfigFollowed"
)

// longestMessage is how long the API server lets the message of a condition be. That of an event may be shorter still.
const longestMessage, longestNote = 32768, 1024

// trouble is what a user has to know of a verdict.
type trouble struct{ reason, message string }

// troubleOf returns what is to be told of a verdict; zero if all is well.
func troubleOf(v verdict) trouble {
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
		return trouble{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%s). %s fix.", strings.Join(lines, "; "), edit)}
	case v.unsafe:
		return trouble{reasonUnsafe, fmt.Sprintf("The cluster configuration is invalid (it would be an unsafe change of the network: %s). %s undo the change. Network.operator keeps what was accepted last.", v.refused, edit)}
	case len(v.refused) > 0:
		return trouble{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%s). %s fix.", v.refused, edit)}
	}
	return trouble{}
}

// condition is the one of Network.config. It names no generation: that kind counts writes of its status, too.
func condition(t trouble) metav1.Condition {
	c := metav1.Condition{Type: conditionSynced, Status: metav1.ConditionTrue, Reason: status.AsExpected}
	if t != (trouble{}) {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, t.reason, cut(t.message, longestMessage)
	}
	return c
}

// findings are what the cluster has to know.
func findings(t trouble) []status.Finding {
	switch t.reason {
	case "", reasonUnread: // the loop of the network reports a record that no one can read
		return nil
	case reasonUnsafe:
		t.reason = reasonInvalid
	}
	// What someone wrote stays wrong until someone changes it.
	wrong := t.reason == reasonInvalid
	return []status.Finding{
		{Component: component, Effect: status.Degraded, Reason: t.reason, Message: t.message, Immediate: wrong},
		{Component: component, Effect: status.NotUpgradeable, Reason: t.reason, Message: t.message, Immediate: wrong},
	}
}

// unread is the trouble with a record that cannot be read.
func unread(err error) trouble {
	return trouble{reasonUnread, fmt.Sprintf("Whether the configuration may be changed cannot be determined: %v", err)}
}

// refusedByServer is the trouble with a configuration that Network.operator cannot hold.
func refusedByServer(err error) trouble {
	return trouble{reasonInvalid, fmt.Sprintf("The cluster configuration is invalid (%v). Use 'kubectl edit network.config.openshift.io cluster' to fix.", err)}
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-3], "") + "..."
}

// followed is the sentence of the event after fields of Network.operator have changed.
func followed(fields []string) string {
	if len(fields) == 0 {
		return fmt.Sprintf("Network.operator.openshift.io/cluster has the annotation %s", pipeline.AcknowledgeAnnotation)
	}
	return fmt.Sprintf("Network.operator.openshift.io/cluster now has the same values in %s", strings.Join(fields, ", "))
}
