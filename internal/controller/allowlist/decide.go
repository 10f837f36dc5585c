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
	// component is the component of the controller's findings.
	component = "SysctlAllowlist"
	// reasonInvalid is the reason if the list is invalid.
	reasonInvalid = "InvalidAllowlist"
	// distributeTimeout is the time after which an incomplete distribution is Degraded.
	distributeTimeout = 10 * time.Minute
	// maxNamed is the maximum number of nodes that a message lists; the rest is counted.
	maxNamed = 3
)

// observation is the input of a decision.
type observation struct {
	// Multus is true if the namespace of Multus exists. Otherwise nothing is done.
	Multus bool
	// List is the list that users edit, nil if it does not exist. Default is the list from Multus, nil if there is none.
	List, Default *corev1.ConfigMap
	DaemonSet     *appsv1.DaemonSet
	Pods          []corev1.Pod
	Image         string
	Now           time.Time
}

// decision is what to do.
type decision struct {
	// Create is the content of the list to create; nil if it exists.
	Create *string
	// Distribute is the list for nodes; nil means no change of the DaemonSet.
	Distribute *string
	// Remove is true if the DaemonSet is no longer needed.
	Remove   bool
	Findings []status.Finding
	// RequeueAfter is the time until the next reconcile without a change; 0 means never.
	RequeueAfter time.Duration
}

// decide is a state machine whose state is the DaemonSet: a custom list is distributed, also to new nodes; the default list is distributed
// after a custom one, and then the DaemonSet is removed, since nodes get the default from Multus.
func decide(w observation) (d decision, err error) {
	if !w.Multus {
		return decision{}, nil
	}
	defaultValue, err := defaultList()
	if err != nil {
		return decision{}, err
	}
	if w.Default != nil {
		// An invalid default from Multus is ignored.
		if fromMultus, err := parse(w.Default.Data); err == nil {
			defaultValue = fromMultus
		}
	}
	want := defaultValue
	if w.List == nil {
		d.Create = &defaultValue
	} else if want, err = parse(w.List.Data); err != nil {
		d.degraded(reasonInvalid, fmt.Sprintf("ConfigMap %s/%s: %v; nodes keep their current list", Namespace, listName, err))
		return d, nil
	}
	if want == defaultValue && w.DaemonSet == nil {
		return d, nil
	}
	if w.Image == "" {
		d.degraded("NoImage", "the list of sysctls cannot be installed on nodes without an image; set MULTUS_IMAGE for the operator")
		return d, nil
	}
	if w.DaemonSet == nil || listOf(w.DaemonSet) != want {
		d.Distribute = &want
		d.progressing("the list is being distributed to nodes")
		return d, nil
	}
	switch done := distributed(w.DaemonSet); {
	case done && want == defaultValue:
		d.Remove = true
	case done:
		d.Distribute = &want // restores the DaemonSet if another client has changed it
	default:
		d.Distribute = &want
		d.wait(w)
	}
	return d, nil
}

// wait reports the nodes that do not have the list yet.
func (d *decision) wait(w observation) {
	s := w.DaemonSet.Status
	message := fmt.Sprintf("%d of %d nodes have the list%s", min(s.UpdatedNumberScheduled, s.NumberAvailable), s.DesiredNumberScheduled, pendingNodes(w))
	since := since(w.DaemonSet)
	if left := distributeTimeout - w.Now.Sub(since); left > 0 {
		d.progressing(message)
		d.RequeueAfter = left
		return
	}
	d.degraded("AllowlistNotDistributed", fmt.Sprintf("%s; since %s", message, since.UTC().Format(time.RFC3339)))
}

// pendingNodes lists the nodes whose pods are not ready, with the reason.
func pendingNodes(w observation) string {
	var all []string
	for i := range w.Pods {
		if pod := status.OfPod(&w.Pods[i], false); pod.Problem != "" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s: %s %s", pod.Node, pod.Problem, pod.Detail)))
		}
	}
	slices.Sort(all)
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(phrase.First(all, maxNamed), ", ") + ")"
}

func (d *decision) degraded(reason, message string) {
	d.Findings = append(d.Findings, status.Finding{Component: component, Effect: status.Degraded, Reason: reason, Message: message, Aside: true, Immediate: reason == reasonInvalid})
}

func (d *decision) progressing(message string) {
	d.Findings = append(d.Findings, status.Finding{Component: component, Effect: status.Progressing, Reason: "Distributing", Message: message, Aside: true})
}

// distributed reports whether all reachable nodes have the list of the DaemonSet.
func distributed(ds *appsv1.DaemonSet) bool {
	s := ds.Status
	return s.ObservedGeneration >= ds.Generation && s.UpdatedNumberScheduled >= s.DesiredNumberScheduled && s.NumberAvailable >= s.DesiredNumberScheduled
}
