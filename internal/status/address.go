package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodeAddresses are the internal addresses of a node, in its order.
func NodeAddresses(n *corev1.Node) []string {
	var all []string
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			all = append(all, a.Address)
		}
	}
	return all
}

// OutdatedAddress finds an address of a pod on the network of its node which is none of those that the node has now. The kubelet never
// changes the addresses of such a pod, so that EndpointSlices, and metrics through them, lead nowhere until the pod is replaced. Pods
// that are being deleted, pods on the pod network and nodes without addresses have none.
func OutdatedAddress(p *corev1.Pod, now []string) (address string, is bool) {
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
