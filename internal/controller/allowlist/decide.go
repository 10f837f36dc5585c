package allowlist

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// component is what conditions about the list are named after.
	component = "SysctlAllowlist"
	// reasonInvalid is that of a list that someone wrote and the plug-in cannot read.
	reasonInvalid = "InvalidAllowlist"
	// slowAfter is how long nodes may take to get a list before a person is asked to look.
	slowAfter = 10 * time.Minute
	// named is how many nodes are named; the others are counted.
	named = 3
)

// world is what the loop finds.
type world struct {
	// Multus is true if the namespace of Multus is there. Without it there is nothing to do.
	Multus bool
	// List is what people edit, nil if there is none. Default is the list that nodes get from Multus, nil if it brings none.
	List, Default *corev1.ConfigMap
	DaemonSet     *appsv1.DaemonSet
	Pods          []corev1.Pod
	Image         string
	Now           time.Time
}

// decision is what is to be done.
type decision struct {
	// Create is the content of the list that is to be made; nil if there is one.
	Create *string
	// Distribute is the list that nodes are to have, nil to leave the DaemonSet as it is.
	Distribute *string
	// Remove is true if no one needs the DaemonSet any more.
	Remove   bool
	Findings []status.Finding
	// Again is when to look again although nothing changes; 0 is never.
	Again time.Duration
}

// decide is a state machine over passes, whose state is the DaemonSet: a list that is not the default one is distributed, and kept on
// nodes that come later; the default one is distributed where another one was, and then nodes get it from Multus.
func decide(w world) (d decision, err error) {
	if !w.Multus {
		return decision{}, nil
	}
	standard, err := shipped()
	if err != nil {
		return decision{}, err
	}
	if w.Default != nil {
		// A default that is wrong comes from Multus's own manifests, and is no reason to change anything.
		if theirs, err := parse(w.Default.Data); err == nil {
			standard = theirs
		}
	}
	want := standard
	if w.List == nil {
		d.Create = &standard
	} else if want, err = parse(w.List.Data); err != nil {
		d.degraded(reasonInvalid, fmt.Sprintf("ConfigMap %s/%s: %v; nodes keep the list that they have", Namespace, listName, err))
		return d, nil
	}
	if want == standard && w.DaemonSet == nil {
		return d, nil
	}
	if w.Image == "" {
		d.degraded("NoImage", "the list of sysctls cannot be installed on nodes without an image; set MULTUS_IMAGE for the operator")
		return d, nil
	}
	if w.DaemonSet == nil || listOf(w.DaemonSet) != want {
		d.Distribute = &want
		d.progressing("nodes get another list")
		return d, nil
	}
	switch done := distributed(w.DaemonSet); {
	case done && want == standard:
		d.Remove = true
	case done:
		d.Distribute = &want // which changes nothing unless a third party did
	default:
		d.Distribute = &want
		d.wait(w)
	}
	return d, nil
}

// wait says which nodes do not have the list yet.
func (d *decision) wait(w world) {
	s := w.DaemonSet.Status
	message := fmt.Sprintf("%d of %d nodes have the list%s", min(s.UpdatedNumberScheduled, s.NumberAvailable), s.DesiredNumberScheduled, laggards(w))
	since := since(w.DaemonSet)
	if left := slowAfter - w.Now.Sub(since); left > 0 {
		d.progressing(message)
		d.Again = left
		return
	}
	d.degraded("AllowlistNotDistributed", fmt.Sprintf("%s; since %s", message, since.UTC().Format(time.RFC3339)))
}

// laggards names the nodes whose pods are not ready, with what keeps them.
func laggards(w world) string {
	var all []string
	for i := range w.Pods {
		if pod := status.OfPod(&w.Pods[i], false); pod.Trouble != "" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s", pod.Node, pod.Trouble, pod.Detail)))
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(phrase.First(all, named), ", ") + ")"
}

func (d *decision) degraded(reason, message string) {
	d.Findings = append(d.Findings, status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Aside: true, Immediate: reason == reasonInvalid})
}

func (d *decision) progressing(message string) {
	d.Findings = append(d.Findings, status.Finding{Component: component, Effect: status.Progressing, Reason: "Distributing", Message: message, Aside: true})
}

// distributed reports whether all nodes have what the DaemonSet says. Of nodes that cannot be reached that is not known.
func distributed(ds *appsv1.DaemonSet) bool {
	s := ds.Status
	return s.ObservedGeneration >= ds.Generation && s.UpdatedNumberScheduled >= s.DesiredNumberScheduled && s.NumberAvailable >= s.DesiredNumberScheduled
}
