package network

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/facts"
)

// Facts adds the facts from nodes to those from the start. hostMTU is the settled MTU; 0 if there is none.
func Facts(known facts.Cluster, nodes []*corev1.Node, hostMTU int) facts.Cluster {
	f := known
	f.HostMTU = hostMTU
	f.NodeCount = len(nodes)
	f.NodeAddresses = make(map[string][]netip.Addr, len(nodes))
	var controlPlane []*corev1.Node
	for _, n := range nodes {
		f.NodeAddresses[n.Name] = addresses(n)
		if isControlPlane(n) {
			controlPlane = append(controlPlane, n)
		}
		if k, ok := facts.ParseKernelVersion(n.Status.NodeInfo.KernelVersion); ok && (f.OldestKernel == facts.KernelVersion{} || older(k, f.OldestKernel)) {
			f.OldestKernel = k
		}
	}
	slices.SortFunc(controlPlane, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, n := range controlPlane {
		f.ControlPlane = append(f.ControlPlane, facts.Node{Name: n.Name, UID: string(n.UID), Addresses: f.NodeAddresses[n.Name]})
	}
	return f
}

// isControlPlane reports whether a node has the control plane role, by its current or former label.
func isControlPlane(n *corev1.Node) bool {
	_, present := n.Labels["node-role.kubernetes.io/control-plane"]
	_, former := n.Labels["node-role.kubernetes.io/master"]
	return present || former
}

// addresses returns the valid internal addresses of a node.
func addresses(n *corev1.Node) []netip.Addr {
	var found []netip.Addr
	for _, a := range n.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil {
			found = append(found, addr)
		}
	}
	return found
}

func older(a, b facts.KernelVersion) bool {
	return a.Major < b.Major || a.Major == b.Major && a.Minor < b.Minor
}
