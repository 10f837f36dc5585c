package networks

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Blocks returns the blocks of pod addresses of a node according to its Node object: those in the annotation of a network that keeps them
// there, or in spec.podCIDRs. It returns none for networks that keep them elsewhere. It skips invalid values.
func Blocks(node *corev1.Node) []netip.Prefix {
	if value, annotated := node.Annotations[topology.NodeSubnets]; annotated {
		if blocks, err := topology.DecodeNodeSubnets(value); err == nil {
			return blocks
		}
	}
	var blocks []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if b, err := netip.ParsePrefix(text); err == nil {
			blocks = append(blocks, b.Masked())
		}
	}
	return blocks
}
