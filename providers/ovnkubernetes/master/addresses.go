package master

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// addresses allocates the addresses of pods. No two pods get the same address, even if the blocks of nodes change.
type addresses struct {
	owner map[netip.Addr]types.UID
	held  map[types.UID][]netip.Addr
	// last is the last allocated address of a block. The search continues after it, so that released addresses are not reused immediately.
	last map[netip.Prefix]netip.Addr
}

func newAddresses() *addresses {
	return &addresses{owner: map[netip.Addr]types.UID{}, held: map[types.UID][]netip.Addr{}, last: map[netip.Prefix]netip.Addr{}}
}

// assign allocates an address of each block to a pod: a preferred one, such as that of its annotation, unless another pod has it. If a block is exhausted, it
// allocates none and returns an error with the block.
func (a *addresses) assign(pod types.UID, blocks []netip.Prefix, preferred []netip.Addr) ([]netip.Addr, error) {
	list := make([]netip.Addr, len(blocks))
	for i, b := range blocks {
		own := slices.IndexFunc(preferred, func(p netip.Addr) bool {
			owner, taken := a.owner[p]
			return usable(b, p) && (!taken || owner == pod)
		})
		if own >= 0 {
			list[i] = preferred[own]
			continue
		}
		var ok bool
		if list[i], ok = a.free(b); !ok {
			a.release(pod)
			return nil, exhaustedError(b)
		}
	}
	a.note(pod, list)
	for i, b := range blocks {
		if !slices.Contains(preferred, list[i]) {
			a.last[b] = list[i]
		}
	}
	return list, nil
}

// exhaustedError means that a block has no free address.
type exhaustedError netip.Prefix

func (e exhaustedError) Error() string {
	return fmt.Sprintf("block %s has no free address", netip.Prefix(e))
}

func (a *addresses) note(pod types.UID, list []netip.Addr) {
	a.release(pod)
	for _, address := range list {
		a.owner[address] = pod
	}
	a.held[pod] = list
}

// release releases the addresses of a pod.
func (a *addresses) release(pod types.UID) {
	for _, address := range a.held[pod] {
		delete(a.owner, address)
	}
	delete(a.held, pod)
}

func (a *addresses) free(block netip.Prefix) (netip.Addr, bool) {
	first := topology.ManagementAddress(block).Addr().Next()
	start := first
	if last, ok := a.last[block]; ok && usable(block, last.Next()) {
		start = last.Next()
	}
	for address := start; ; {
		if _, taken := a.owner[address]; !taken {
			return address, true
		}
		if address = address.Next(); !usable(block, address) {
			address = first
		}
		if address == start {
			return netip.Addr{}, false
		}
	}
}

// usable reports whether an address of a block can be assigned to a pod: it is not one of the first three, and not the IPv4 broadcast address.
func usable(block netip.Prefix, address netip.Addr) bool {
	return block.Contains(address) && topology.ManagementAddress(block).Addr().Less(address) && (address.Is6() || block.Contains(address.Next()))
}
