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

// maxSeats is the maximum number of members. Three members tolerate the loss of one.
const maxSeats = 3

// Seats returns the desired number of members for a number of candidates: three, one or none. Two would be worse than one, because the loss of either
// stops the cluster.
func Seats(candidates int) int {
	if candidates >= maxSeats {
		return maxSeats
	}
	return min(candidates, 1)
}

// Bootstrap returns the membership of a new cluster: the first candidate is its first member, and the following ones are in the state Promised. The token
// must be new. Without candidates, the membership has no members.
func Bootstrap(candidates []Candidate, m Managed, token string) Membership {
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

// Hash returns a hash of texts as 16 hexadecimal digits.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(t))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// PodHash returns a hash of the inputs of a member's pod. A Deployment whose pods have another hash is not up to date.
func (m Member) PodHash() string { return Hash(m.Name, m.Address, m.Image, m.Trust) }
