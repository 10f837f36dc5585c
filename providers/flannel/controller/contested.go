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
	// contestWindow is the time in which changes of a lease's address are counted.
	contestWindow = 10 * time.Minute
	// contestChanges is how many of them in that time are too many: a node that moves to another address and back has two.
	contestChanges = 3
)

// movement is the recent history of the address in a node's lease.
type movement struct {
	address, former netip.Addr
	changes         []time.Time
}

// movements are those of all nodes, by name. They are kept in memory alone: two machines with one name change the address
// soon again.
type movements map[string]movement

// note takes the address in a node's lease, and reports whether it changes too often.
func (m movements) note(node string, address netip.Addr, now time.Time) bool {
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

// contested reports nodes whose lease goes back and forth between two addresses: two machines have the same node name, for
// example one that was replaced while it was unreachable, and take the lease from one another.
func (p *pass) contested(s store) {
	addresses := map[netip.Prefix]netip.Addr{}
	for _, l := range s.leases {
		addresses[l.subnet] = l.publicIP
	}
	now := p.deps.Now()
	var found []string
	for _, name := range sorted(s.reservations) {
		if p.moves.note(name, addresses[s.reservations[name].Subnet], now) {
			seen := p.moves[name]
			found = append(found, fmt.Sprintf("the lease of node %s (%s) changes between the addresses %s and %s", name, s.reservations[name].Subnet, seen.former, seen.address))
		}
	}
	maps.DeleteFunc(p.moves, func(name string, _ movement) bool { _, reserved := s.reservations[name]; return !reserved })
	if len(found) == 0 {
		return
	}
	f := finding(status.Degraded, "NodeNameContested", status.Sentence(found, "two machines have the same node name; stop one of them, or give it another name"))
	f.Immediate = true // only a person can stop a machine
	p.Findings = append(p.Findings, f)
}
