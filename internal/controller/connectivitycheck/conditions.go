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
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// component is the name of the diagnostics in conditions.
const component = "NetworkDiagnostics"

// Reasons of findings.
const (
	reasonNode   = "NodeUnreachable"
	reasonTarget = "TargetUnreachable"
	reasonSource = "SourceIsolated"
)

// named is how many of a kind are named in the status. There is a number for the others.
const named = 5

// findings are what users should know of a verdict. A node whose kubelet answers and that pods cannot reach is
// the network's fault. That one which is down cannot be reached is no news; it is said of the component alone. So are other
// targets, which may be out of reach for reasons outside the cluster, and sources that reach nothing.
func findings(v connectivity.Verdict, down map[string]bool) []status.Finding {
	var faults, known []connectivity.Trouble
	troubled := map[string]bool{}
	for _, t := range v.Nodes {
		troubled[t.Target.Node] = true
		if down[t.Target.Node] {
			known = append(known, t)
		} else {
			faults = append(faults, t)
		}
	}
	found := group(faults, reasonNode, false, "nodes", nodeSentence(""))
	found = append(found, group(known, reasonNode, true, "nodes whose kubelets do not answer", nodeSentence(", whose kubelet does not answer either,"))...)
	found = append(found, group(v.Targets, reasonTarget, true, "targets", func(t connectivity.Trouble) string {
		return fmt.Sprintf("%s (%s) cannot be reached from pods on %s since %s: %s", t.Target.Name, t.Target.Endpoint, on(t.From), stamp(t.Since), t.Message)
	})...)
	blind := slices.DeleteFunc(slices.Clone(v.Sources), func(t connectivity.Trouble) bool { return troubled[t.From[0]] })
	return append(found, group(blind, reasonSource, true, "sources", func(t connectivity.Trouble) string {
		return fmt.Sprintf("Pods on node %s reach no other node that is checked from there since %s: %s", t.From[0], stamp(t.Since), t.Message)
	})...)
}

func nodeSentence(state string) func(connectivity.Trouble) string {
	return func(t connectivity.Trouble) string {
		return fmt.Sprintf("Node %s%s cannot be reached from pods on %s since %s: %s", t.Target.Node, state, on(t.From), stamp(t.Since), t.Message)
	}
}

// group makes a finding of each trouble, and one of those that are too many to name.
func group(troubles []connectivity.Trouble, reason string, aside bool, kind string, sentence func(connectivity.Trouble) string) []status.Finding {
	var found []status.Finding
	for i, t := range troubles {
		text := sentence(t)
		if i == named {
			text = fmt.Sprintf("%d more %s cannot be reached", len(troubles)-named, kind)
		}
		// It has lasted long enough already to be a trouble.
		found = append(found, status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: text, Aside: aside, Immediate: true})
		if i == named {
			break
		}
	}
	return found
}

// on lists the nodes of sources, which in small clusters may be all there are.
func on(nodes []string) string {
	return phrase.Names(nodes, 3)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// The condition of OpenShift's Network.
const (
	conditionAvailable = "NetworkDiagnosticsAvailable"
	reasonNoSources    = "NoSources"
	reasonNoTargets    = "NoTargets"
)

// available says whether there is something to check from and something to check. It is nil while nothing is to be
// checked.
func available(seen *observed) *metav1.Condition {
	ready := slices.ContainsFunc(seen.world.Sources, func(s connectivity.Source) bool { return s.Ready })
	target := slices.ContainsFunc(seen.world.Targets, func(t connectivity.Target) bool { return t.Node != "" })
	c := &metav1.Condition{Type: conditionAvailable, Status: metav1.ConditionFalse}
	switch {
	case !seen.enabled:
		return nil
	case !ready:
		c.Reason, c.Message = reasonNoSources, "No source pods available"
	case !target:
		c.Reason, c.Message = reasonNoTargets, "No target pods available"
	default:
		c.Status, c.Reason = metav1.ConditionTrue, status.AsExpected
	}
	return c
}

// publish writes the condition of OpenShift's Network when it differs. Other conditions are others'. The object
// has no separate status.
func (c *Controller) publish(ctx context.Context, seen *observed) error {
	if seen.config == nil {
		return nil
	}
	have, want := meta.FindStatusCondition(seen.config.Status.Conditions, conditionAvailable), available(seen)
	said := fmt.Sprint(want)
	if want == nil && have == nil || have != nil && want != nil && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
		c.said = said
		return nil
	}
	if c.said == said && have == nil {
		return nil // the API server does not keep it
	}
	changed := seen.config.DeepCopy()
	if want == nil {
		meta.RemoveStatusCondition(&changed.Status.Conditions, conditionAvailable)
	} else {
		want.LastTransitionTime = metav1.Time{Time: c.Now()}
		meta.SetStatusCondition(&changed.Status.Conditions, *want)
	}
	// The list is written as a whole, and others have conditions in it.
	unchanged := client.MergeFromWithOptions(seen.config, client.MergeFromWithOptimisticLock{})
	err := c.Client.Patch(ctx, changed, unchanged, fieldManager)
	if apierrors.IsConflict(err) {
		c.wake.Fire() // a third party was first; the next pass sees what they wrote
		return nil
	}
	if err != nil {
		return fmt.Errorf("write condition of network configuration: %w", err)
	}
	c.said = said
	return nil
}
