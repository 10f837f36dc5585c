package clusterstatus

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// reasonPodAddress is the reason of pods with an address that their node had before.
const reasonPodAddress = "PodAddressOutdated"

// outdated is a pod on the network of its node that has an address which the node no longer has.
type outdated struct{ namespace, pod, node, has, now string }

// outdatedAddress compares the addresses of a pod with those of its node. A node whose kubelet does not respond tells nothing.
func (l *nodeList) outdatedAddress(p *corev1.Pod) (outdated, bool) {
	now := l.addresses[p.Spec.NodeName]
	has, is := status.OutdatedAddress(p, now)
	if !is || l.gone[p.Spec.NodeName] {
		return outdated{}, false
	}
	return outdated{p.Namespace, p.Name, p.Spec.NodeName, has, strings.Join(now, " and ")}, true
}

// namedPods is how many pods the finding of one workload names.
const namedPods = 3

// addressFinding reports the pods of a workload that have such addresses. It does not affect the conditions of the network as a whole:
// the pods work on the addresses that the node has.
func addressFinding(w status.Workload, pods []outdated) status.Finding {
	slices.SortFunc(pods, func(a, b outdated) int { return strings.Compare(a.pod, b.pod) })
	var named []string
	for _, p := range pods[:min(len(pods), namedPods)] {
		named = append(named, fmt.Sprintf("pod %s on node %s (%s, and the node has %s)", p.pod, p.node, p.has, p.now))
	}
	text := strings.Join(named, ", ")
	if more := len(pods) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return status.Finding{
		Component: w.Component, Effect: status.Degraded, Reason: reasonPodAddress, Aside: true, Subject: w.String() + " addresses",
		Message: fmt.Sprintf("%s has pods with an address that their node no longer has: %s; the operator replaces one after the other while all others of the workload are ready, or delete them (kubectl -n %s delete pod %s): new ones get the address of the node",
			w, text, w.Namespace, pods[0].pod),
	}
}
