package whereabouts

import (
	"net/netip"
	"slices"
)

// Allocation is an address of an IPPool as whereabouts writes it, with fields that its readers ignore.
type Allocation struct {
	// ContainerID is the sandbox that has the address.
	ContainerID string `json:"id"`
	// PodRef is namespace/name of the pod.
	PodRef string `json:"podref"`
	IfName string `json:"ifname,omitempty"`
	// PodUID is the owner: pods have the names of earlier ones. It is empty in what whereabouts wrote.
	PodUID string `json:"podUID,omitempty"`
	// Node is the node that has the pod.
	Node string `json:"node,omitempty"`
	// Claim is namespace/name of the IPAMClaim that keeps the address when the pod is gone, and ClaimUID its UID.
	Claim    string `json:"claim,omitempty"`
	ClaimUID string `json:"claimUID,omitempty"`
}

// sameInterface reports whether an allocation is that of an interface of a sandbox. Early versions of whereabouts recorded no interface.
func (a Allocation) sameInterface(containerID, ifName string) bool {
	return a.ContainerID == containerID && (a.IfName == ifName || a.IfName == "")
}

// Owns reports whether an allocation, or a reservation, is held for the same interface: of the same sandbox, of an earlier sandbox of the
// same pod, or by the same claim, which two interfaces of a pod cannot share.
func (a Allocation) Owns(held Allocation) bool {
	return held.sameInterface(a.ContainerID, a.IfName) ||
		a.PodUID != "" && a.PodUID == held.PodUID && a.IfName == held.IfName ||
		a.ClaimUID != "" && a.ClaimUID == held.ClaimUID && (a.PodUID != held.PodUID || a.IfName == held.IfName)
}

// Request asks for an address of a range.
type Request struct {
	// Range is that of the request: definitions that share a pool may have different ones.
	Range Range
	// Owner is who gets the address.
	Owner Allocation
	// Address is the one address that will do; not valid for any.
	Address netip.Addr
}

// Outcome is what a request gets.
type Outcome struct {
	// Address is not valid if there is none.
	Address netip.Addr
	// New is true if the owner did not have the address before.
	New bool
	// Other is who has the requested address, if that is the reason for there being none.
	Other Allocation
}

// Decide finds an address for each request among the allocations of a pool: the one that the owner has, or the requested one, or the lowest that
// is free. avoid reports addresses that are taken elsewhere; held are addresses that owners of requests have reserved already, by the
// index of the request. Neither the allocations nor the requests are changed; no two requests get the same address unless they are of
// one owner.
func Decide(allocations map[string]Allocation, requests []Request, held map[int]netip.Addr, avoid func(netip.Addr) bool) []Outcome {
	outcomes := make([]Outcome, len(requests))
	if len(requests) == 0 {
		return outcomes
	}
	d := decision{given: make(map[netip.Addr]Allocation, len(allocations)+len(requests)), avoid: avoid}
	owned, owners := make([]netip.Addr, len(requests)), index(requests)
	for offset, a := range allocations {
		address, ok := requests[0].Range.Address(offset)
		if !ok {
			continue
		}
		d.given[address] = a
		for _, i := range owners.of(a) {
			if r := requests[i]; r.Owner.Owns(a) && r.Range.contains(address) && better(a, address, r.Owner, owned[i], d.given) {
				owned[i] = address
			}
		}
	}
	for i, r := range requests {
		outcomes[i] = d.one(r, owned[i], held[i])
		if outcomes[i].Address.IsValid() {
			d.given[outcomes[i].Address] = r.Owner
		}
	}
	return outcomes
}

// better prefers what the sandbox itself has to what an earlier one had, and then the lowest, so that the decision is the same each time.
func better(a Allocation, address netip.Addr, owner Allocation, than netip.Addr, given map[netip.Addr]Allocation) bool {
	if !than.IsValid() {
		return true
	}
	before, now := given[than].ContainerID == owner.ContainerID, a.ContainerID == owner.ContainerID
	return now && !before || now == before && address.Compare(than) < 0
}

// decision is the state of Decide.
type decision struct {
	given map[netip.Addr]Allocation
	// searched is how far ranges have been searched.
	searched []searched
	avoid    func(netip.Addr) bool
}

type searched struct {
	r    Range
	from netip.Addr
}

// next returns the lowest address of a range that is free. Each search continues where the last one of the same range ended.
func (d *decision) next(r Range) (netip.Addr, bool) {
	i := slices.IndexFunc(d.searched, func(s searched) bool { return s.r.Span == r.Span && slices.Equal(s.r.Exclude, r.Exclude) })
	if i < 0 {
		i, d.searched = len(d.searched), append(d.searched, searched{r: r})
	}
	a, ok := r.Next(d.searched[i].from, func(a netip.Addr) bool {
		_, taken := d.given[a]
		return taken || d.avoid(a)
	})
	if d.searched[i].from = a; !ok {
		d.searched[i].from = r.Last
	}
	return a, ok
}

// owners are the requests by what an allocation may have in common with them.
type owners map[string][]int

func index(requests []Request) owners {
	o := owners{}
	for i, r := range requests {
		for _, key := range r.Owner.identities() {
			o[key] = append(o[key], i)
		}
	}
	return o
}

func (o owners) of(a Allocation) []int {
	var all []int
	for _, key := range a.identities() {
		all = append(all, o[key]...)
	}
	return all
}

// identities are what allocations of one owner have in common, at least one of them.
func (a Allocation) identities() []string {
	out := []string{"container " + a.ContainerID}
	if a.PodUID != "" {
		out = append(out, "pod "+a.PodUID)
	}
	if a.ClaimUID != "" {
		out = append(out, "claim "+a.ClaimUID)
	}
	return out
}

func (d *decision) one(r Request, owned, held netip.Addr) Outcome {
	if r.Address.IsValid() {
		other, taken := d.given[r.Address]
		switch {
		case owned == r.Address && r.Owner.Owns(other):
			return Outcome{Address: owned}
		case taken || !r.Range.Assignable(r.Address) || held != r.Address && d.avoid(r.Address):
			return Outcome{Other: other}
		}
		return Outcome{Address: r.Address, New: true}
	}
	// An earlier request of the batch may be of the same owner, or may have taken the address over.
	if owned.IsValid() && r.Owner.Owns(d.given[owned]) {
		return Outcome{Address: owned}
	}
	if _, taken := d.given[held]; held.IsValid() && !taken && r.Range.Assignable(held) {
		return Outcome{Address: held, New: true}
	}
	address, ok := d.next(r.Range)
	return Outcome{Address: address, New: ok}
}

// Held returns the offsets of what an interface of a sandbox has.
func Held(allocations map[string]Allocation, containerID, ifName string) []string {
	var offsets []string
	for offset, a := range allocations {
		if a.sameInterface(containerID, ifName) {
			offsets = append(offsets, offset)
		}
	}
	return offsets
}
