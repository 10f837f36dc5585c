package store

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/flannel-io/flannel/pkg/lease"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cluster-network-operator/cno/internal/nodeblocks"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Request is a node's request for a subnet.
type Request struct {
	Node    string
	Network agentconfig.Network
	// Open is the part of the IPv4 network from which a subnet may be chosen; zero means the whole network.
	Open netip.Prefix
	// Attrs is the desired value of the lease.
	Attrs lease.LeaseAttrs
	// PreviousIPv4 and PreviousIPv6 are the saved subnets of the node; zero if there are none. They are used only without a reservation.
	PreviousIPv4, PreviousIPv6 netip.Prefix
	// Reserved is true if only the operator chooses subnets: the node takes the subnet reserved for it, and writes only its lease.
	Reserved bool
}

// ErrNotReserved means that the operator has not chosen a subnet for the node yet.
var ErrNotReserved = errors.New("the operator has not reserved a subnet for this node yet")

// Claim is a transaction with which a node takes a subnet.
type Claim struct {
	// Key is the lease's key. IPv4 and IPv6 are its subnets.
	Key        string
	IPv4, IPv6 netip.Prefix
	// Revision is the expected revision of the lease's key; 0 if it must not exist.
	Revision int64
	// Existing is the current etcd lease of the key, if it belongs to the node and may be reused.
	Existing clientv3.LeaseID
	// Reservation is the reservation to write; nil for none. ReservationRevision is the expected revision of the node's reservation; 0 if it must not exist.
	Reservation         *agentconfig.Reservation
	ReservationRevision int64
	// Release are other leases of the node to delete, unless they have changed.
	Release []Lease
	// Exclusive is true if the choice depends on all other subnets, so that none may have been added since.
	Exclusive bool
}

// HeldError means that another node holds the subnet reserved for a node.
type HeldError struct {
	Subnet netip.Prefix
	Holder netip.Addr
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("subnet %s is reserved for this node, but the node with address %s holds its lease; this node takes it when that lease ends", e.Subnet, e.Holder)
}

// Plan decides which subnet a node takes, based on a snapshot of etcd: the reserved one, otherwise one that it holds or held before, otherwise a free one. It
// does not use the clock: every lease in the snapshot is valid. Leases whose length differs from the network's subnets are ignored, since no agent uses them.
func Plan(prefix string, req Request, snap Snapshot) (Claim, error) {
	reservation, reserved := snap.Reservations[req.Node]
	if req.Reserved {
		return planReserved(prefix, req, reservation.Reservation, snap)
	}
	claim := Claim{ReservationRevision: reservation.Revision, Exclusive: !reserved}
	own := ownership{node: req.Node, address: publicIP(req.Attrs), former: reservation.PublicIP, snap: snap}
	if reserved {
		claim.IPv4, claim.IPv6 = reservation.Subnet, reservation.IPv6Subnet
	} else if l, ok := own.adoptable(req.Network); ok {
		claim.IPv4, claim.IPv6 = l.IPv4, l.IPv6
	}
	if err := claim.complete(req, snap); err != nil {
		return Claim{}, err
	}
	claim.Key = agentconfig.SubnetKey(prefix, claim.IPv4, claim.IPv6)

	if holder, ok := snap.Leases[claim.Key]; ok {
		if !own.holds(holder) {
			return Claim{}, &HeldError{Subnet: claim.IPv4, Holder: holder.PublicIP()}
		}
		claim.Revision, claim.Existing = holder.Revision, holder.ID
	}
	for _, l := range snap.Leases {
		if l.Key == claim.Key {
			continue
		}
		if own.holds(l) {
			claim.Release = append(claim.Release, l)
		} else if l.IPv4.Overlaps(claim.IPv4) && l.IPv4.Bits() == req.Network.IPv4SubnetLen {
			return Claim{}, &HeldError{Subnet: claim.IPv4, Holder: l.PublicIP()}
		}
	}
	slices.SortFunc(claim.Release, func(a, b Lease) int { return a.IPv4.Addr().Compare(b.IPv4.Addr()) })

	want := reservation.Reservation
	want.Node, want.Subnet, want.IPv6Subnet, want.PublicIP = req.Node, claim.IPv4, claim.IPv6, own.address
	if !reserved || want != reservation.Reservation {
		claim.Reservation = &want
	}
	return claim, nil
}

// planReserved plans for a node that may write only the key of its reserved subnet. No other node may write that key, so that a lease there is the node's own,
// even with another address.
func planReserved(prefix string, req Request, r agentconfig.Reservation, snap Snapshot) (Claim, error) {
	n := req.Network
	if !nodeblocks.Usable(n.IPv4, n.IPv4SubnetLen, r.Subnet) || n.DualStack() && !nodeblocks.Usable(n.IPv6, n.IPv6SubnetLen, r.IPv6Subnet) {
		return Claim{}, ErrNotReserved
	}
	claim := Claim{IPv4: r.Subnet, ReservationRevision: snap.Reservations[req.Node].Revision}
	if n.DualStack() {
		claim.IPv6 = r.IPv6Subnet
	}
	claim.Key = agentconfig.SubnetKey(prefix, claim.IPv4, claim.IPv6)
	if holder, ok := snap.Leases[claim.Key]; ok {
		claim.Revision, claim.Existing = holder.Revision, holder.ID
	}
	return claim, nil
}

// complete chooses subnets for the families without a usable one.
func (c *Claim) complete(req Request, snap Snapshot) error {
	n := req.Network
	var err error
	if !nodeblocks.Usable(n.IPv4, n.IPv4SubnetLen, c.IPv4) {
		open := n.IPv4
		if req.Open.IsValid() {
			open = req.Open
		}
		c.IPv4, err = choose(open, n.IPv4SubnetLen, req.Node, req.PreviousIPv4, snap.Taken(req.Node, false, n.IPv4SubnetLen))
		c.Exclusive = true
	}
	if !n.DualStack() {
		c.IPv6 = netip.Prefix{}
	} else if err == nil && !nodeblocks.Usable(n.IPv6, n.IPv6SubnetLen, c.IPv6) {
		c.IPv6, err = choose(n.IPv6, n.IPv6SubnetLen, req.Node, req.PreviousIPv6, snap.Taken(req.Node, true, n.IPv6SubnetLen))
		c.Exclusive = true
	}
	return err
}

func choose(network netip.Prefix, length int, node string, previous netip.Prefix, taken []netip.Prefix) (netip.Prefix, error) {
	free := func(t netip.Prefix) bool { return !t.Overlaps(previous) }
	if nodeblocks.Usable(network, length, previous) && !slices.ContainsFunc(taken, func(t netip.Prefix) bool { return !free(t) }) {
		return previous, nil
	}
	subnet, ok := nodeblocks.Pick(network, length, node, taken)
	if !ok {
		return netip.Prefix{}, fmt.Errorf("network %s has no free subnet of length %d: %d are taken by leases and reservations; delete the reservations of deleted nodes", network, length, len(taken))
	}
	return subnet, nil
}

// ownership determines which leases belong to a node.
type ownership struct {
	node string
	// address is the node's address. former is the one with which its reservation was last used.
	address, former netip.Addr
	snap            Snapshot
}

// holds reports whether a lease is the node's: it has the node's address, or the one that the node had when it
// last held its reservation. A subnet that is reserved for another node is never this node's.
func (o ownership) holds(l Lease) bool {
	for name, r := range o.snap.Reservations {
		if name != o.node && r.Subnet == l.IPv4 {
			return false
		}
	}
	holder := l.PublicIP()
	own, ok := o.snap.Reservations[o.node]
	return holder == o.address || ok && own.Subnet == l.IPv4 && o.former.IsValid() && holder == o.former
}

// adoptable returns the node's lease from before there were reservations; the first one if there are several.
func (o ownership) adoptable(n agentconfig.Network) (Lease, bool) {
	var found Lease
	for _, l := range o.snap.Leases {
		if o.holds(l) && nodeblocks.Usable(n.IPv4, n.IPv4SubnetLen, l.IPv4) && (found.Key == "" || l.Key < found.Key) {
			found = l
		}
	}
	return found, found.Key != ""
}

func publicIP(attrs lease.LeaseAttrs) netip.Addr { return Lease{Attrs: attrs}.PublicIP() }
