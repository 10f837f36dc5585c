package node

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// admission is the input of the validation of other nodes' leases.
type admission struct {
	Network agentconfig.Network
	// Backend is the backend of this node.
	Backend string
	// Own are the subnets, addresses and MAC addresses of this node; zero values are unknown.
	Own ownership
	// Reservations are keyed by node. A subnet without a reservation is checked by the other rules only: other flannel daemons that share an external etcd
	// create none.
	Reservations map[string]agentconfig.Reservation
	// Before are the previously accepted leases, by key.
	Before map[string]store.Lease
}

// ownership has the resources of the node itself.
type ownership struct {
	Subnets   []netip.Prefix
	Addresses []netip.Addr
	MACs      []string
}

// rejection is a lease that is not used for routing, with the reason.
type rejection struct {
	Key    string
	Reason string
}

// target is one IP family of a lease: the node to which packets for a subnet are sent.
type target struct {
	To   netip.Prefix
	Node netip.Addr
	// MAC is the address of the node's vxlan device; empty with other backends.
	MAC string
}

// claimed is a resource that only one lease may have.
type claimed struct {
	subnet netip.Prefix
	mac    string
	v6     bool
}

// candidate is a lease that satisfies all rules for a single lease.
type candidate struct {
	store.Lease
	targets []target
	// reserved is true if the reservation of the subnet belongs to the holder. before is true if the lease was accepted before.
	reserved, before bool
}

// accept returns the leases that are used for routing, by subnet, and the rejected ones. Of conflicting leases, one with a matching reservation wins, then one
// that was accepted before, then, if both are reserved, the one that was written first; otherwise none. A rejected lease changes nothing: the lease that was
// previously accepted under its key remains while it satisfies the rules.
func (a admission) accept(leases []store.Lease) ([]candidate, []rejection) {
	reservations := a.reservationsBySubnet()
	var candidates []candidate
	var rejected []rejection
	for _, l := range leases {
		c, err := a.check(l, reservations)
		if err != nil {
			rejected = append(rejected, reject(l, err))
			if c, err = a.check(a.Before[l.Key], reservations); err != nil {
				continue
			}
		}
		candidates = append(candidates, c)
	}
	accepted, refused := a.resolve(candidates)
	for _, c := range refused {
		rejected = append(rejected, reject(c.Lease, errContested))
	}
	if previous := a.previous(refused, reservations); len(previous) > 0 {
		accepted, refused = a.resolve(append(accepted, previous...))
		for _, c := range refused {
			if !slices.ContainsFunc(rejected, func(r rejection) bool { return r.Key == c.Key }) {
				rejected = append(rejected, reject(c.Lease, errContested))
			}
		}
	}
	slices.SortFunc(accepted, func(x, y candidate) int { return x.IPv4.Addr().Compare(y.IPv4.Addr()) })
	return accepted, rejected
}

func reject(l store.Lease, err error) rejection {
	return rejection{Key: l.Key, Reason: fmt.Sprintf(
		"lease %s of %s is ignored: %v; inspect that node, and delete the key from etcd if the node does not correct it", l.Key, l.PublicIP(), err)}
}

// previous returns the previously accepted leases under the keys of refused ones.
func (a admission) previous(refused []candidate, reservations map[netip.Prefix][]agentconfig.Reservation) []candidate {
	var out []candidate
	for _, r := range refused {
		if c, err := a.check(a.Before[r.Key], reservations); err == nil && !r.before {
			out = append(out, c)
		}
	}
	return out
}

func (a admission) reservationsBySubnet() map[netip.Prefix][]agentconfig.Reservation {
	out := make(map[netip.Prefix][]agentconfig.Reservation, len(a.Reservations))
	for _, r := range a.Reservations {
		out[r.Subnet] = append(out[r.Subnet], r)
	}
	return out
}

// errContested is the reason of a lease that loses against another one.
var errContested = errors.New("another lease has the same subnet or the same MAC address")

// check applies the rules for a single lease.
func (a admission) check(l store.Lease, reservations map[netip.Prefix][]agentconfig.Reservation) (candidate, error) {
	c := candidate{Lease: l}
	v4, err := a.target(a.Network.IPv4, a.Network.IPv4SubnetLen, l.IPv4, l.PublicIP(), l, l.Attrs.BackendData)
	if err != nil {
		return c, err
	}
	c.targets = append(c.targets, v4)
	if a.Network.DualStack() && l.IPv6.IsValid() {
		v6, err := a.target(a.Network.IPv6, a.Network.IPv6SubnetLen, l.IPv6, l.PublicIPv6(), l, l.Attrs.BackendV6Data)
		if err != nil {
			return c, err
		}
		c.targets = append(c.targets, v6)
	}
	if c.reserved, err = reservedFor(l, reservations[l.IPv4]); err != nil {
		return c, err
	}
	before, ok := a.Before[l.Key]
	c.before = ok && reflect.DeepEqual(before.Attrs, l.Attrs)
	return c, nil
}

// reservedFor reports whether the reservation of a lease's subnet belongs to the holder. It returns an error if it belongs to another node. Several
// reservations of one subnet are ignored.
func reservedFor(l store.Lease, reservations []agentconfig.Reservation) (bool, error) {
	if len(reservations) != 1 {
		return false, nil
	}
	r := reservations[0]
	if !r.PublicIP.IsValid() {
		return false, nil // no node has held it yet
	}
	if r.PublicIP != l.PublicIP() || r.IPv6Subnet.IsValid() && l.IPv6.IsValid() && r.IPv6Subnet != l.IPv6 {
		return false, fmt.Errorf("its subnet is reserved for node %s with address %s", r.Node, r.PublicIP)
	}
	return r.IPv6Subnet == l.IPv6, nil
}

// target validates one IP family of a lease.
func (a admission) target(pool netip.Prefix, length int, subnet netip.Prefix, node netip.Addr, l store.Lease, data json.RawMessage) (target, error) {
	w := target{To: subnet, Node: node}
	switch {
	case !subnet.IsValid() || pool.Bits() > subnet.Bits() || !pool.Contains(subnet.Addr()):
		return w, fmt.Errorf("subnet %s is outside the network %s", subnet, pool)
	case subnet.Bits() != length:
		return w, fmt.Errorf("subnet %s has prefix length %d, and those of this network have %d", subnet, subnet.Bits(), length)
	case !node.IsGlobalUnicast():
		return w, fmt.Errorf("%q is not the address of a node", node)
	case a.Network.IPv4.Contains(node) || a.Network.IPv6.Contains(node):
		return w, fmt.Errorf("address %s is inside the pod network", node)
	case slices.Contains(a.Own.Addresses, node):
		return w, fmt.Errorf("address %s is this node's own", node)
	}
	if a.Backend != agentconfig.BackendVXLAN || l.Attrs.BackendType != a.Backend {
		return w, nil
	}
	var attrs vxlanAttrs
	if err := json.Unmarshal(data, &attrs); err != nil {
		return w, fmt.Errorf("it has no vxlan data for %s: %w", subnet, err)
	}
	mac, err := net.ParseMAC(attrs.VtepMAC)
	if err != nil || len(mac) != 6 || mac[0]&1 != 0 || slices.Max(mac) == 0 {
		return w, fmt.Errorf("%q is not the MAC address of a vxlan device", attrs.VtepMAC)
	}
	w.MAC = mac.String()
	return w, nil
}

// claims returns the exclusive resources of the lease.
func (c candidate) claims() []claimed {
	var out []claimed
	for _, w := range c.targets {
		v6 := w.To.Addr().Is6()
		out = append(out, claimed{subnet: w.To, v6: v6})
		if w.MAC != "" {
			out = append(out, claimed{mac: w.MAC, v6: v6})
		}
	}
	return out
}

// order sorts leases with higher precedence first; equal ones have the same precedence.
func order(x, y candidate) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	reason := cmp.Or(first(x.reserved, y.reserved), first(x.before, y.before))
	if reason == 0 && x.reserved {
		return cmp.Compare(x.Revision, y.Revision)
	}
	return reason
}

// resolve resolves conflicts between leases, and with the node's own resources.
func (a admission) resolve(candidates []candidate) (accepted, refused []candidate) {
	taken := map[claimed]bool{}
	for _, subnet := range a.Own.Subnets {
		taken[claimed{subnet: subnet, v6: subnet.Addr().Is6()}] = true
	}
	for _, mac := range a.Own.MACs {
		taken[claimed{mac: mac}], taken[claimed{mac: mac, v6: true}] = true, true
	}
	candidates = slices.SortedStableFunc(slices.Values(candidates), order)
	for len(candidates) > 0 {
		n := 1
		for n < len(candidates) && order(candidates[0], candidates[n]) == 0 {
			n++
		}
		group := candidates[:n]
		candidates = candidates[n:]
		wanted := map[claimed]int{}
		for _, c := range group {
			for _, r := range c.claims() {
				wanted[r]++
			}
		}
		for _, c := range group {
			if slices.ContainsFunc(c.claims(), func(r claimed) bool { return taken[r] || wanted[r] > 1 }) {
				refused = append(refused, c)
			} else {
				accepted = append(accepted, c)
			}
		}
		for r := range wanted {
			taken[r] = true
		}
	}
	return accepted, refused
}

// acceptance has the leases of other nodes that are used for routing; it is saved.
type acceptance struct {
	// known is true once the leases were checked.
	known  bool
	leases map[string]store.Lease
}

func (a acceptance) equal(leases map[string]store.Lease) bool {
	return a.known && maps.EqualFunc(a.leases, leases, func(x, y store.Lease) bool { return reflect.DeepEqual(x.Attrs, y.Attrs) })
}
