package controller

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// contestWindow is the period in which changes of a lease's address are counted.
	contestWindow = 10 * time.Minute
	// contestChanges is the minimum number of changes that indicates a conflict: a node that moves to another address and back has two.
	contestChanges = 3
)

// movement is the recent history of the address in a node's lease.
type movement struct {
	address, former netip.Addr
	changes         []time.Time
}

// movements has the movements of all nodes by name. They are not persistent: two machines with one name soon change the address again.
type movements map[string]movement

// record records the address in a node's lease, and reports whether it changes too often.
func (m movements) record(node string, address netip.Addr, now time.Time) bool {
	seen := m[node]
	if address.IsValid() && address != seen.address {
		if seen.address.IsValid() {
			seen.former, seen.changes = seen.address, append(slices.Clone(seen.changes), now)
		}
		seen.address = address
	}
	seen.changes = slices.DeleteFunc(slices.Clone(seen.changes), func(at time.Time) bool { return now.Sub(at) >= contestWindow })
	m[node] = seen
	return len(seen.changes) >= contestChanges
}

// contested reports nodes whose lease alternates between two addresses: two machines with the same node name, for example one that was replaced while it was
// unreachable, take the lease from one another.
func (p *reconciliation) contested(s store) {
	addresses := map[netip.Prefix]netip.Addr{}
	for _, l := range s.leases {
		addresses[l.subnet] = l.publicIP
	}
	now := p.deps.Now()
	var found []string
	for _, name := range sorted(s.reservations) {
		if p.moves.record(name, addresses[s.reservations[name].Subnet], now) {
			seen := p.moves[name]
			found = append(found, fmt.Sprintf("the lease of node %s (%s) changes between the addresses %s and %s", name, s.reservations[name].Subnet, seen.former, seen.address))
		}
	}
	maps.DeleteFunc(p.moves, func(name string, _ movement) bool { _, reserved := s.reservations[name]; return !reserved })
	if len(found) == 0 {
		return
	}
	f := finding(status.Degraded, "NodeNameContested", status.Sentence(found, "two machines have the same node name; stop one of them, or give it another name"))
	f.Immediate = true // user action is required
	p.Findings = append(p.Findings, f)
}
