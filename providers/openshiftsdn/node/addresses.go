package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containernetworking/plugins/plugins/ipam/host-local/backend/disk"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	// rangeID is host-local's identifier of the first address range.
	rangeID = "0"
	// restTime is how long a released address is not reused while another one is free.
	restTime = time.Minute
)

// addresses allocates the addresses of the node's pods in files of host-local's format: one per address, with the sandbox and its interface.
type addresses struct {
	// dir contains the directory named network.
	dir, network, node string
	now                func() time.Time

	mu    sync.Mutex
	freed map[netip.Addr]time.Time
}

func newAddresses(dir, network, node string, now func() time.Time) *addresses {
	return &addresses{dir: dir, network: network, node: node, now: now, freed: map[netip.Addr]time.Time{}}
}

// open opens the store and locks it against host-local and other processes.
func (a *addresses) open() (*disk.Store, error) {
	store, err := disk.New(a.network, a.dir)
	if err != nil {
		return nil, fmt.Errorf("open the addresses of pods: %w", err)
	}
	if err := store.Lock(); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the addresses of pods: %w", err), store.Close())
	}
	return store, nil
}

// give returns the address of a sandbox' interface in a block. It allocates the next free one after the last allocation if the interface has none. The first
// and last addresses of the block and those of the node are excluded.
func (a *addresses) give(block netip.Prefix, containerID, ifName string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	store, err := a.open()
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = store.Close() }()
	for _, ip := range store.GetByID(containerID, ifName) {
		if own, ok := netip.AddrFromSlice(ip.To4()); ok && block.Contains(own) {
			return own, nil
		}
	}
	first, last := flows.MasqueradeAddress(block).Next(), beforeLast(block)
	start := first
	if ip, err := store.LastReservedIP(rangeID); err == nil {
		if before, ok := netip.AddrFromSlice(ip.To4()); ok && before.Compare(first) >= 0 && before.Compare(last) < 0 {
			start = before.Next()
		}
	}
	for _, resting := range []bool{false, true} {
		found, err := a.reserve(store, first, last, start, resting, containerID, ifName)
		if err != nil || found.IsValid() {
			return found, err
		}
	}
	used, err := a.list()
	return netip.Addr{}, errors.Join(cniproto.Errorf(cniproto.CodeTryAgain, "no address is free in %s on %s (%d in use)", block, a.node, len(used)), err)
}

// reserve reserves the first free address from start on, wrapping around once. It skips recently released ones unless resting is true.
func (a *addresses) reserve(store *disk.Store, first, last, start netip.Addr, resting bool, containerID, ifName string) (netip.Addr, error) {
	for next, wrapped := start, false; ; next = next.Next() {
		if next.Compare(last) > 0 {
			next, wrapped = first, true
		}
		if wrapped && next.Compare(start) >= 0 {
			return netip.Addr{}, nil
		}
		if at, ok := a.freed[next]; ok && !resting && a.now().Sub(at) < restTime {
			continue
		}
		reserved, err := store.Reserve(containerID, ifName, next.AsSlice(), rangeID)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("reserve address %s: %w", next, err)
		}
		if reserved {
			delete(a.freed, next)
			return next, nil
		}
	}
}

// beforeLast returns the last usable address of a block.
func beforeLast(block netip.Prefix) netip.Addr {
	b := block.Masked().Addr().As4()
	for bit := block.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b).Prev()
}

// release releases the addresses of a sandbox' interface.
func (a *addresses) release(containerID, ifName string) error {
	return a.releaseAll(func(id, name string) bool { return id == containerID && (name == ifName || name == "") })
}

// releaseAll releases the addresses for whose sandbox and interface match returns true.
func (a *addresses) releaseAll(match func(containerID, ifName string) bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	store, err := a.open()
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	all, err := a.list()
	errs := []error{err}
	for address, owner := range all {
		if !match(owner[0], owner[1]) {
			continue
		}
		if err := os.Remove(filepath.Join(a.dir, a.network, address.String())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("free address %s: %w", address, err))
			continue
		}
		a.freed[address] = a.now()
	}
	return errors.Join(errs...)
}

// of returns the address of a sandbox' interface.
func (a *addresses) of(containerID, ifName string) (netip.Addr, error) {
	all, err := a.list()
	for address, owner := range all {
		if owner == [2]string{containerID, ifName} {
			return address, nil
		}
	}
	return netip.Addr{}, errors.Join(fmt.Errorf("interface %s of container %s has no address", ifName, containerID), err)
}

// list returns the allocated addresses, with the sandbox and interface of each.
func (a *addresses) list() (map[netip.Addr][2]string, error) {
	dir := filepath.Join(a.dir, a.network)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the addresses of pods: %w", err)
	}
	out := map[netip.Addr][2]string{}
	for _, e := range entries {
		address, err := netip.ParseAddr(e.Name())
		if err != nil {
			continue // the lock, and the last allocated address
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, fmt.Errorf("read address %s: %w", address, err)
		}
		id, name, _ := strings.Cut(strings.TrimSpace(string(content)), disk.LineBreak)
		out[address] = [2]string{id, name}
	}
	return out, nil
}

// count returns the number of allocated addresses.
func (a *addresses) count() int {
	all, err := a.list()
	if err != nil {
		return 0
	}
	return len(all)
}
