package node

import (
	"errors"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// namedRejections is the maximum number of rejected leases in the report; the others are counted.
const namedRejections = 3

// admission returns the current input of lease validation.
func (s *session) admission(t holding, p peers) admission {
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
	for _, mac := range []string{vtepMAC(t.desired), vtepMACv6(t.desired)} {
		if mac != "" {
			a.Own.MACs = append(a.Own.MACs, mac)
		}
	}
	return a
}

// keepAccepted stores which leases are used for routing, logs each rejected one once, and reports them.
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

// rejections returns one error for all rejected leases; nil if there are none.
func rejections(list []rejection) error {
	if len(list) == 0 {
		return nil
	}
	var out []string
	for _, r := range list {
		out = append(out, r.Reason)
	}
	return errors.New(phrase.Clauses(out, namedRejections))
}
