package node

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/node/store"
)

// peers is the known state of the other nodes. The maps are never changed after they are shared with another goroutine.
type peers struct {
	// leases are keyed by key; they include the node's own.
	leases map[string]store.Lease
	// names are the nodes' names by subnet, from reservations.
	names map[netip.Prefix]string
	// reservations are keyed by node.
	reservations map[string]agentconfig.Reservation
	// known is true once leases have been read from any source, current once they have been read from etcd. Before that, missing leases may only be unknown.
	known, current bool
	// revision is the etcd revision of the leases; 0 before they have been read from etcd.
	revision int64
	// cluster identifies that etcd cluster.
	cluster uint64
}

// list returns the leases except the node's own, sorted by subnet.
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

// peer returns the node that holds a lease.
func (p peers) peer(l store.Lease) agentconfig.Peer {
	return agentconfig.Peer{Node: p.names[l.IPv4], PublicIP: l.PublicIP(), Subnet: l.IPv4}
}

// replaced reports whether a snapshot is of another etcd than the known state, or of one that was restored.
func (p peers) replaced(snap store.Snapshot) bool {
	return p.revision != 0 && (p.cluster != snap.Cluster || snap.Revision < p.revision)
}

// withSnapshot returns the state after reading etcd. If retain is true, missing leases of other nodes are retained: etcd has also lost the node's own lease,
// so that it may have lost those of live nodes.
func (p peers) withSnapshot(snap store.Snapshot, own string, retain bool) peers {
	next := peers{
		leases: snap.Leases, names: make(map[netip.Prefix]string, len(snap.Reservations)),
		reservations: make(map[string]agentconfig.Reservation, len(snap.Reservations)),
		known:        true, current: !retain, revision: snap.Revision, cluster: snap.Cluster,
	}
	for node, r := range snap.Reservations {
		next.names[r.Subnet] = node
		next.reservations[node] = r.Reservation
	}
	if retain {
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

// withEvents returns the state after events. dir is the key prefix of reservations.
func (p peers) withEvents(dir string, events []store.Event) peers {
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
			if deleted, ok := agentconfig.ParseNodeKey(dir, e.Key); ok {
				maps.DeleteFunc(next.names, func(_ netip.Prefix, node string) bool { return node == deleted })
				delete(next.reservations, deleted)
			}
		}
		next.revision = max(next.revision, e.Revision)
	}
	return next
}

// lost reports whether the known state contradicts a confirmed holding: its lease is missing, or has another address.
func (p peers) lost(t holding) bool {
	if !t.confirmed() || p.revision < t.revision {
		return false
	}
	l, ok := p.leases[t.key]
	return !ok || l.Attrs.PublicIP != t.desired.PublicIP
}
