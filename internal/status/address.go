package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeAddresses returns the internal addresses of a node in the order of its status.
func NodeAddresses(n *corev1.Node) []string {
	var all []string
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			all = append(all, a.Address)
		}
	}
	return all
}

// OutdatedAddress returns an address of a pod on the host network that its node no longer has. The kubelet never changes the
// addresses of such a pod, so that EndpointSlices contain an invalid address until the pod is replaced. outdated is false for pods
// that are being deleted, pods on the pod network and nodes without addresses.
func OutdatedAddress(p *corev1.Pod, now []string) (address string, outdated bool) {
	if !p.Spec.HostNetwork || p.DeletionTimestamp != nil || len(now) == 0 {
		return "", false
	}
	for _, a := range p.Status.PodIPs {
		if a.IP != "" && !slices.Contains(now, a.IP) {
			return a.IP, true
		}
	}
	return "", false
}
