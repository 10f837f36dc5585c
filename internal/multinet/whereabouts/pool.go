package whereabouts

import (
	"net/netip"
	"slices"
)

// Allocation is an allocated address in an IPPool, in the form of whereabouts with additional fields.
type Allocation struct {
	// ContainerID is the sandbox that has the address.
	ContainerID string `json:"id"`
	// PodRef is namespace/name of the pod.
	PodRef string `json:"podref"`
	IfName string `json:"ifname,omitempty"`
	// PodUID identifies the owner, since names of pods are reused. It is empty in allocations by whereabouts.
	PodUID string `json:"podUID,omitempty"`
	// Node is the node of the pod.
	Node string `json:"node,omitempty"`
	// Claim is namespace/name of the IPAMClaim that keeps the address after the pod is deleted, and ClaimUID its UID.
	Claim    string `json:"claim,omitempty"`
	ClaimUID string `json:"claimUID,omitempty"`
}

// sameInterface reports whether an allocation belongs to an interface of a sandbox. Early versions of whereabouts recorded no interface.
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

// Request is a request for an address of a range.
type Request struct {
	// Range is the range of the definition: definitions that share a pool may have different ranges.
	Range Range
	// Owner is the owner of the address.
	Owner Allocation
	// Address is the requested address; not valid for any address.
	Address netip.Addr
}

// Outcome is the result of a request.
type Outcome struct {
	// Address is not valid if there is none.
	Address netip.Addr
	// New is true if the owner did not have the address before.
	New bool
	// Other is the owner of the requested address if another owner has it.
	Other Allocation
}

// Decide selects an address for each request, given the allocations of a pool: the owner's existing address, the requested address, or the lowest free
// one. avoid reports addresses that are reserved elsewhere; held has addresses that owners of requests have already reserved, by the index of the
// request. Decide changes neither the allocations nor the requests; two requests get the same address only if they have the same owner.
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

// better reports whether an allocation is preferred to the address than: allocations of the sandbox itself come first, then the lowest address, so that
// the result is deterministic.
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
	// searched has the positions of the searches in ranges.
	searched []searched
	avoid    func(netip.Addr) bool
}

type searched struct {
	r    Range
	from netip.Addr
}

// next returns the lowest free address of a range. A search continues where the last search of the same range ended.
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

// owners maps the identities of owners to the indexes of requests.
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

// identities returns the identities of an owner. Two allocations of the same owner share at least one.
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
	// An earlier request of the batch may have taken over the address.
	if owned.IsValid() && r.Owner.Owns(d.given[owned]) {
		return Outcome{Address: owned}
	}
	if _, taken := d.given[held]; held.IsValid() && !taken && r.Range.Assignable(held) {
		return Outcome{Address: held, New: true}
	}
	address, ok := d.next(r.Range)
	return Outcome{Address: address, New: ok}
}

// Held returns the offsets of the allocations of an interface of a sandbox.
func Held(allocations map[string]Allocation, containerID, ifName string) []string {
	var offsets []string
	for offset, a := range allocations {
		if a.sameInterface(containerID, ifName) {
			offsets = append(offsets, offset)
		}
	}
	return offsets
}
