package node

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// namedRejections is how many rejected leases the report names; the others are counted.
const namedRejections = 3

// admission is what the leases of other nodes are checked against now.
func (s *session) admission(t tenure, p peers) admission {
	follows, _ := s.accepted.Get()
	a := admission{
		Network: s.Config.Network, Backend: s.Config.Backend.Type, Reservations: p.reservations, Before: follows.leases,
		Own: ownership{Addresses: []netip.Addr{address(s.ext.ExtAddr), address(s.ext.ExtV6Addr)}},
	}
	for _, subnet := range []netip.Prefix{t.ipv4, t.ipv6} {
		if subnet.IsValid() {
			a.Own.Subnets = append(a.Own.Subnets, subnet)
		}
	}
	for _, mac := range []string{vtepMAC(t.wanted), vtepMACv6(t.wanted)} {
		if mac != "" {
			a.Own.MACs = append(a.Own.MACs, mac)
		}
	}
	return a
}

// keepAccepted notes which leases traffic follows, logs each rejected one once, and reports them.
func (s *session) keepAccepted(want desired, known bool) {
	if known {
		s.accepted.Update(func(a *acceptance) bool {
			if a.equal(want.Accepted) {
				return false
			}
			*a = acceptance{known: true, leases: want.Accepted}
			return true
		})
	}
	rejected := make(map[rejection]bool, len(want.Rejected))
	for _, r := range want.Rejected {
		if rejected[r] = true; !s.rejected[r] {
			s.Log.Warn("a lease is rejected", "key", r.Key, "reason", r.Reason)
		}
	}
	s.rejected = rejected
	err := rejections(want.Rejected)
	s.board.Set(topicLeases, err)
}

// rejections is one error for all rejected leases; nil if there are none.
func rejections(list []rejection) error {
	if len(list) == 0 {
		return nil
	}
	var out []string
	for _, r := range list[:min(len(list), namedRejections)] {
		out = append(out, r.Reason)
	}
	if more := len(list) - namedRejections; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(out, "; "))
}
