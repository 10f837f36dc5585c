package node

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// peers is what is known of the other nodes. The maps are never changed once another goroutine has them.
type peers struct {
	// leases are by key, the node's own among them.
	leases map[string]store.Lease
	// names are the nodes' names by subnet, from their reservations.
	names map[netip.Prefix]string
	// reservations are by node.
	reservations map[string]agentconfig.Reservation
	// known is true once the leases came from anywhere, current once they came from etcd. Before that, what is
	// missing may only be unknown.
	known, current bool
	// revision is the one of etcd that the leases are of; 0 before they came from etcd.
	revision int64
	// cluster identifies that etcd.
	cluster uint64
}

// list returns the leases but for the node's own, in the order of their subnets.
func (p peers) list(own string) []store.Lease {
	out := make([]store.Lease, 0, len(p.leases))
	for key, l := range p.leases {
		if key != own {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b store.Lease) int { return a.IPv4.Addr().Compare(b.IPv4.Addr()) })
	return out
}

// peer names the node that holds a lease.
func (p peers) peer(l store.Lease) agentconfig.Peer {
	return agentconfig.Peer{Node: p.names[l.IPv4], PublicIP: l.PublicIP(), Subnet: l.IPv4}
}

// replaced reports whether a snapshot is of another etcd than what is known, or of one that was set back.
func (p peers) replaced(snap store.Snapshot) bool {
	return p.revision != 0 && (p.cluster != snap.Cluster || snap.Revision < p.revision)
}

// taken returns what is known after etcd was read. If keep is true, other nodes' leases that are gone stay for now:
// etcd has lost the node's own lease too, so that it may have lost those of nodes that are alive.
func (p peers) taken(snap store.Snapshot, own string, keep bool) peers {
	next := peers{
		leases: snap.Leases, names: make(map[netip.Prefix]string, len(snap.Reservations)),
		reservations: make(map[string]agentconfig.Reservation, len(snap.Reservations)),
		known:        true, current: !keep, revision: snap.Revision, cluster: snap.Cluster,
	}
	for node, r := range snap.Reservations {
		next.names[r.Subnet] = node
		next.reservations[node] = r.Reservation
	}
	if keep {
		next.leases = maps.Clone(snap.Leases)
		for key, l := range p.leases {
			if _, ok := next.leases[key]; !ok && key != own && !overlapsAny(next.leases, l) {
				next.leases[key] = l
			}
		}
		for subnet, node := range p.names {
			if _, ok := next.names[subnet]; !ok {
				next.names[subnet] = node
			}
		}
	}
	return next
}

func overlapsAny(leases map[string]store.Lease, l store.Lease) bool {
	for _, other := range leases {
		if other.IPv4.Overlaps(l.IPv4) {
			return true
		}
	}
	return false
}

// after returns what is known after events. dir is where reservations are.
func (p peers) after(dir string, events []store.Event) peers {
	next := p
	next.leases, next.names, next.reservations = maps.Clone(p.leases), maps.Clone(p.names), maps.Clone(p.reservations)
	for _, e := range events {
		switch {
		case e.Lease != nil:
			next.leases[e.Key] = *e.Lease
		case e.Reservation != nil:
			maps.DeleteFunc(next.names, func(_ netip.Prefix, node string) bool { return node == e.Reservation.Node })
			next.names[e.Reservation.Subnet] = e.Reservation.Node
			next.reservations[e.Reservation.Node] = e.Reservation.Reservation
		default:
			delete(next.leases, e.Key)
			if gone, ok := agentconfig.ParseNodeKey(dir, e.Key); ok {
				maps.DeleteFunc(next.names, func(_ netip.Prefix, node string) bool { return node == gone })
				delete(next.reservations, gone)
			}
		}
		next.revision = max(next.revision, e.Revision)
	}
	return next
}

// lost reports whether a confirmed tenure is contradicted by what is known: its lease is gone, or says another
// address.
func (p peers) lost(t tenure) bool {
	if !t.confirmed() || p.revision < t.revision {
		return false
	}
	l, ok := p.leases[t.key]
	return !ok || l.Attrs.PublicIP != t.wanted.PublicIP
}
