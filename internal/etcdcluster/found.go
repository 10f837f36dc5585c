package etcdcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
)

// Candidate is a node that may run a member of the managed etcd.
type Candidate struct {
	Name, UID string
	Address   netip.Addr
}

// maxSeats is how many members there are at most: three survive the loss of any one.
const maxSeats = 3

// Seats returns how many members there ought to be with a number of candidates: three or one. Two would be worse
// than one, since the loss of either stops both.
func Seats(candidates int) int {
	if candidates >= maxSeats {
		return maxSeats
	}
	return min(candidates, 1)
}

// Found returns the membership of a cluster that is founded again on the first of the candidates, with seats promised
// to those that follow. The token must not have been used before, here or for any member. It has no members without
// candidates.
func Found(candidates []Candidate, m Managed, token string) Membership {
	out := Membership{Token: token}
	for i, c := range candidates[:Seats(len(candidates))] {
		member := NewMember(c, m, token)
		member.State = Promised
		if i == 0 {
			member.State = New
		}
		out.Members = append(out.Members, member)
	}
	return out
}

// Hash returns a short name for some texts: 16 hexadecimal digits.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(t))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// PodHash names what the pod of a member is made of. A Deployment whose pods carry another has yet to follow.
func (m Member) PodHash() string { return Hash(m.Name, m.Address, m.Image, m.Trust) }
