package master

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// addresses knows which pod has which address. An address is never given to two pods, also when nodes get other blocks.
type addresses struct {
	owner map[netip.Addr]types.UID
	held  map[types.UID][]netip.Addr
	// last is the address of a block that was given last: the search goes on behind it, so that an address rests before it is
	// used again.
	last map[netip.Prefix]netip.Addr
}

func newAddresses() *addresses {
	return &addresses{owner: map[netip.Addr]types.UID{}, held: map[types.UID][]netip.Addr{}, last: map[netip.Prefix]netip.Addr{}}
}

// assign gives a pod an address of each block: the one that it prefers, such as the one of its annotation, unless another pod has it. The
// error names a block that has none left; the pod then has none at all.
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

// exhaustedError is that a block has no free address.
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

// release gives back what a pod has.
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

// usable reports whether an address of a block can be a pod's: not the first three, and not the broadcast address of IPv4.
func usable(block netip.Prefix, address netip.Addr) bool {
	return block.Contains(address) && topology.ManagementAddress(block).Addr().Less(address) && (address.Is6() || block.Contains(address.Next()))
}
