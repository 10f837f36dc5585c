package hostsubnet

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
)

// claim is the use of an address by a node or host.
type claim struct {
	name    string
	holds   bool
	created time.Time
}

// owners returns the owner of each address. If several claim it, the one whose HostSubnet has it wins, then the oldest.
func (p *planner) owners() map[netip.Addr]string {
	claims := map[netip.Addr][]claim{}
	for _, n := range p.Nodes {
		address, _, ok := p.first(n)
		if !ok {
			continue
		}
		c := claim{name: n.Name, created: n.CreationTimestamp.Time}
		if s := p.subnets[n.Name]; s != nil && !p.deleted[n.Name] {
			c.holds, c.created = s.HostIP == address.String(), s.CreationTimestamp.Time
		}
		claims[address] = append(claims[address], c)
	}
	for _, s := range p.HostSubnets {
		if address, err := netip.ParseAddr(s.HostIP); err == nil && p.nodes[s.Name] == nil && !p.deleted[s.Name] && s.Host == s.Name {
			claims[address] = append(claims[address], claim{name: s.Name, holds: true, created: s.CreationTimestamp.Time})
		}
	}
	out := make(map[netip.Addr]string, len(claims))
	for address, all := range claims {
		out[address] = slices.MinFunc(all, func(a, b claim) int {
			if a.holds != b.holds {
				if a.holds {
					return -1
				}
				return 1
			}
			return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name))
		}).name
	}
	return out
}

// first returns the first IPv4 InternalIP of a node that can be a tunnel endpoint. refused is a preceding one that cannot.
func (p *planner) first(n *corev1.Node) (address, refused netip.Addr, ok bool) {
	for _, a := range n.Status.Addresses {
		one, err := netip.ParseAddr(a.Address)
		if a.Type != corev1.NodeInternalIP || err != nil || !one.Is4() {
			continue
		}
		if p.inside(one) {
			refused = one
			continue
		}
		return one, refused, true
	}
	return netip.Addr{}, refused, false
}

// inside reports whether an address belongs to pods or Services.
func (p *planner) inside(a netip.Addr) bool {
	return contains(p.Services, a) || slices.ContainsFunc(p.Pools, func(pool nodeblocks.Pool) bool { return pool.Network.Contains(a) })
}

// address returns the tunnel address of a node; ok is false without one. It reports the reason unless the node has no InternalIP yet.
func (p *planner) address(n *corev1.Node, owners map[netip.Addr]string) (netip.Addr, bool) {
	address, refused, ok := p.first(n)
	if !ok {
		if refused.IsValid() {
			p.problem(n, ReasonAddress, "InternalIP %s "+faultReserved+": the node needs an IPv4 InternalIP outside of them; set it with the kubelet's flag --node-ip", refused)
		} else if slices.ContainsFunc(n.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }) {
			p.problem(n, ReasonAddress, "the node has no IPv4 InternalIP, which OpenShiftSDN needs; set it with the kubelet's flag --node-ip")
		}
		return netip.Addr{}, false
	}
	if owner := owners[address]; owner != n.Name {
		p.problem(n, ReasonAddress, "InternalIP %s is the address of %s, which had it first: the node gets no packets from other nodes; give one of them another address", address, owner)
		return netip.Addr{}, false
	}
	return address, true
}

// host checks the address of a host outside the cluster.
func (p *planner) host(s *sdnv1.HostSubnet, owners map[netip.Addr]string) {
	address, err := netip.ParseAddr(s.HostIP)
	switch {
	case err != nil || !address.Is4():
		p.problem(s, ReasonInvalid, "hostIP %q %s: nodes send nothing to this host; write its address", s.HostIP, faultAddress)
	case p.inside(address):
		p.problem(s, ReasonInvalid, "hostIP %s %s: nodes send nothing to this host; write its own address", s.HostIP, faultReserved)
	case owners[address] != s.Name:
		p.problem(s, ReasonInvalid, "hostIP %s is the address of %s, which had it first: nodes send nothing to this host; write its own address", s.HostIP, owners[address])
	}
}
