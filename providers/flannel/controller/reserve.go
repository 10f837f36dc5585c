package controller

import (
	"fmt"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdmanager"
	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// reserve returns the changes that reserve subnets for nodes with a reporting agent and without a reservation. A node that reports a saved subnet gets it
// again if it is free, so that its pods keep their addresses after a loss of etcd's data. If no subnet is free, it returns an error and the changes so far.
func (s store) reserve(c agentconfig.Config, nodes map[string]etcdmanager.Node) ([]etcdclient.Change, error) {
	var out []etcdclient.Change
	n := c.Network
	if s.config != nil {
		n.IPv4 = c.Open(s.config.Value)
	}
	v4, v6 := s.taken()
	for _, name := range sorted(s.agents) {
		if _, exists := nodes[name]; !exists {
			continue
		}
		r, a := s.reservations[name], s.agents[name]
		if nodeblocks.Usable(c.Network.IPv4, n.IPv4SubnetLen, r.Subnet) && (!n.DualStack() || nodeblocks.Usable(n.IPv6, n.IPv6SubnetLen, r.IPv6Subnet)) {
			continue
		}
		next := agentconfig.Reservation{Node: name, UID: nodes[name].UID, Subnet: r.Subnet, IPv6Subnet: r.IPv6Subnet}
		var err error
		if next.Subnet, err = choose(n.IPv4, c.Network.IPv4, n.IPv4SubnetLen, name, []netip.Prefix{r.Subnet, a.Subnet}, v4, a.PublicIP); err != nil {
			return out, err
		}
		if n.DualStack() {
			if next.IPv6Subnet, err = choose(n.IPv6, n.IPv6, n.IPv6SubnetLen, name, []netip.Prefix{r.IPv6Subnet, a.IPv6Subnet}, v6, a.PublicIP); err != nil {
				return out, err
			}
		}
		v4[next.Subnet], v6[next.IPv6Subnet] = holder{node: name}, holder{node: name}
		value, err := next.Encode()
		if err != nil {
			return out, err
		}
		key, lease := agentconfig.ReservationKey(s.prefix, name), agentconfig.SubnetKey(s.prefix, next.Subnet, next.IPv6Subnet)
		// An agent of an earlier version chooses a subnet itself, and writes its lease together with its reservation.
		out = append(out, etcdclient.Change{
			Unchanged: map[string]int64{key: r.key.Revision, lease: s.revision(lease)},
			Put:       map[string][]byte{key: value},
		})
	}
	return out, nil
}

// holder is the holder of a subnet: a node with its reservation, or an address with its lease.
type holder struct {
	node    string
	address netip.Addr
}

// taken returns the subnets of both families in leases and reservations.
func (s store) taken() (v4, v6 map[netip.Prefix]holder) {
	v4, v6 = map[netip.Prefix]holder{}, map[netip.Prefix]holder{}
	for _, l := range s.leases {
		_, second, _ := agentconfig.ParseSubnetKey(s.prefix, l.key.Key)
		v4[l.subnet], v6[second] = holder{address: l.publicIP}, holder{address: l.publicIP}
	}
	for name, r := range s.reservations {
		v4[r.Subnet], v6[r.IPv6Subnet] = holder{node: name}, holder{node: name}
	}
	delete(v6, netip.Prefix{})
	return v4, v6
}

func (s store) revision(key string) int64 {
	for _, l := range s.leases {
		if l.key.Key == key {
			return l.key.Revision
		}
	}
	return 0
}

// choose returns the first usable subnet in before, otherwise a free one in the open network.
func choose(open, network netip.Prefix, length int, node string, before []netip.Prefix, taken map[netip.Prefix]holder, address netip.Addr) (netip.Prefix, error) {
	var list []netip.Prefix
	for subnet := range taken {
		if subnet.Bits() == length {
			list = append(list, subnet)
		}
	}
	for _, subnet := range before {
		h, held := taken[subnet]
		own := h.node == node || h.node == "" && h.address.IsValid() && h.address == address
		if nodeblocks.Usable(network, length, subnet) && (!held || own) {
			return subnet, nil
		}
	}
	subnet, ok := nodeblocks.Pick(open, length, node, list)
	if !ok {
		return netip.Prefix{}, fmt.Errorf("network %s has no free subnet of length %d for node %s: %d are taken; delete Node objects that are no longer needed, or let spec.clusterNetwork grow", open, length, node, len(list))
	}
	return subnet, nil
}
