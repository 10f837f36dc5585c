package clusterstatus

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// reasonPodAddress is the reason for pods with a former address of their node.
const reasonPodAddress = "PodAddressOutdated"

// outdated is a host-network pod with an address that its node no longer has.
type outdated struct{ namespace, pod, node, podAddress, now string }

// outdatedAddress compares the addresses of a pod with those of its node. Nodes whose kubelet does not respond are skipped.
func (l *nodeList) outdatedAddress(p *corev1.Pod) (outdated, bool) {
	now := l.addresses[p.Spec.NodeName]
	podAddress, ok := status.OutdatedAddress(p, now)
	if !ok || l.gone[p.Spec.NodeName] {
		return outdated{}, false
	}
	return outdated{p.Namespace, p.Name, p.Spec.NodeName, podAddress, strings.Join(now, " and ")}, true
}

// maxNamedPods is the maximum number of pods that a finding lists.
const maxNamedPods = 3

// addressFinding reports the pods of a workload with outdated addresses. It only affects the component's own condition.
func addressFinding(w status.Workload, pods []outdated) status.Finding {
	slices.SortFunc(pods, func(a, b outdated) int { return strings.Compare(a.pod, b.pod) })
	var named []string
	for _, p := range pods {
		named = append(named, fmt.Sprintf("pod %s on node %s (%s, and the node has %s)", p.pod, p.node, p.podAddress, p.now))
	}
	return status.Finding{
		Component: w.Component, Effect: status.Degraded, Reason: reasonPodAddress, Aside: true, Subject: w.String() + " addresses",
		Message: fmt.Sprintf("%s has pods with an address that their node no longer has: %s; the operator replaces one after the other while all others of the workload are ready, or delete them (kubectl -n %s delete pod %s): new ones get the address of the node",
			w, phrase.Names(named, maxNamedPods), w.Namespace, pods[0].pod),
	}
}
