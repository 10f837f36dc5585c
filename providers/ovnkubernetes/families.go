package ovnkubernetes

import (
	"net/netip"
	"slices"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// hasIPv6 reports whether pods have IPv6 addresses.
func hasIPv6(spec *operatorv1.NetworkSpec) bool {
	return slices.ContainsFunc(poolAddresses(spec), netip.Addr.Is6)
}

// hasIPv4 reports whether pods have IPv4 addresses. It is true without valid pools, which other rules refuse.
func hasIPv4(spec *operatorv1.NetworkSpec) bool {
	return !hasIPv6(spec) || slices.ContainsFunc(poolAddresses(spec), netip.Addr.Is4)
}

// tunnelsIPv6 reports whether tunnels between nodes are over IPv6. Their family is that of the first pool: it never changes while the network is in use, and
// kubelets of nodes have an address of it.
func tunnelsIPv6(spec *operatorv1.NetworkSpec) bool {
	all := poolAddresses(spec)
	return len(all) > 0 && all[0].Is6()
}

// poolAddresses returns the first address of each valid pool.
func poolAddresses(spec *operatorv1.NetworkSpec) []netip.Addr {
	if spec == nil {
		return nil
	}
	var out []netip.Addr
	for _, p := range spec.ClusterNetwork {
		if network, err := netaddr.ParseCIDR(p.CIDR); err == nil {
			out = append(out, network.Addr())
		}
	}
	return out
}
