package connectivitycheck

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the component of the controller's findings.
const component = "NetworkDiagnostics"

// Reasons of findings.
const (
	reasonNode   = "NodeUnreachable"
	reasonTarget = "TargetUnreachable"
	reasonSource = "SourceIsolated"
)

// maxNamed is the maximum number of problems of a kind that are listed; the rest is counted.
const maxNamed = 5

// findings returns the findings for a summary. A node that pods cannot reach although its kubelet responds is a fault of the network. Nodes
// that are down, other targets, which may be outside the cluster, and isolated sources only affect the component's own condition.
func findings(v connectivity.Summary, down map[string]bool) []status.Finding {
	var faults, expected []connectivity.Problem
	unreachable := map[string]bool{}
	for _, t := range v.Nodes {
		unreachable[t.Target.Node] = true
		if down[t.Target.Node] {
			expected = append(expected, t)
		} else {
			faults = append(faults, t)
		}
	}
	found := group(faults, reasonNode, false, "nodes", nodeSentence(""))
	found = append(found, group(expected, reasonNode, true, "nodes whose kubelets do not respond", nodeSentence(", whose kubelet does not respond either,"))...)
	found = append(found, group(v.Targets, reasonTarget, true, "targets", func(t connectivity.Problem) string {
		return fmt.Sprintf("%s (%s) %s", t.Target.Name, t.Target.Endpoint, t.Sentence())
	})...)
	blind := slices.DeleteFunc(slices.Clone(v.Sources), func(t connectivity.Problem) bool { return unreachable[t.From[0]] })
	return append(found, group(blind, reasonSource, true, "sources", func(t connectivity.Problem) string {
		return fmt.Sprintf("Pods on node %s reach none of the other nodes that are checked from there since %s: %s", t.From[0], stamp(t.Since), t.Message)
	})...)
}

func nodeSentence(state string) func(connectivity.Problem) string {
	return func(t connectivity.Problem) string {
		return fmt.Sprintf("Node %s%s %s", t.Target.Node, state, t.Sentence())
	}
}

// group returns a finding for each problem, and one with the number of those above maxNamed.
func group(problems []connectivity.Problem, reason string, aside bool, kind string, sentence func(connectivity.Problem) string) []status.Finding {
	var found []status.Finding
	for i, t := range problems {
		text := sentence(t)
		if i == maxNamed {
			text = fmt.Sprintf("%d more %s cannot be reached", len(problems)-maxNamed, kind)
		}
		// The summary has already applied a delay.
		found = append(found, status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: text, Aside: aside, Immediate: true})
		if i == maxNamed {
			break
		}
	}
	return found
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Condition of OpenShift's Network.
const (
	conditionAvailable = "NetworkDiagnosticsAvailable"
	reasonNoSources    = "NoSources"
	reasonNoTargets    = "NoTargets"
)

// available returns the condition for OpenShift's Network; nil if checks are disabled.
func available(seen *observation) *metav1.Condition {
	ready := slices.ContainsFunc(seen.topology.Sources, func(s connectivity.Source) bool { return s.Ready })
	target := slices.ContainsFunc(seen.topology.Targets, func(t connectivity.Target) bool { return t.Node != "" })
	c := &metav1.Condition{Type: conditionAvailable, Status: metav1.ConditionFalse}
	switch {
	case !seen.enabled:
		return nil
	case !ready:
		c.Reason, c.Message = reasonNoSources, "No source pods available"
	case !target:
		c.Reason, c.Message = reasonNoTargets, "No target pods available"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, status.AsExpected, "Sources and targets of connectivity checks are available"
	}
	return c
}

// publish writes the condition of OpenShift's Network if it differs. The kind has no status subresource.
func (c *Controller) publish(ctx context.Context, seen *observation) error {
	if seen.config == nil {
		return nil
	}
	live, desired := meta.FindStatusCondition(seen.config.Status.Conditions, conditionAvailable), available(seen)
	lastCondition := fmt.Sprint(desired)
	if desired == nil && live == nil || live != nil && desired != nil && live.Status == desired.Status && live.Reason == desired.Reason && live.Message == desired.Message {
		c.lastCondition = lastCondition
		return nil
	}
	if c.lastCondition == lastCondition && live == nil {
		return nil // the API server prunes it
	}
	changed := seen.config.DeepCopy()
	if desired == nil {
		meta.RemoveStatusCondition(&changed.Status.Conditions, conditionAvailable)
	} else {
		desired.LastTransitionTime = metav1.Time{Time: c.Now()}
		meta.SetStatusCondition(&changed.Status.Conditions, *desired)
	}
	// The conditions are written as a list, which has conditions of other owners.
	unchanged := client.MergeFromWithOptions(seen.config, client.MergeFromWithOptimisticLock{})
	err := c.Client.Patch(ctx, changed, unchanged, fieldManager)
	if apierrors.IsConflict(err) {
		c.wake.Fire() // retry with the newer object
		return nil
	}
	if err != nil {
		return fmt.Errorf("write condition of network configuration: %w", err)
	}
	c.lastCondition = lastCondition
	return nil
}
