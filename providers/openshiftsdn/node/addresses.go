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
	// rangeID is what host-local calls the range of a configuration with one.
	rangeID = "0"
	// restTime is how long an address that was freed is not given away while another one is free.
	restTime = time.Minute
)

// addresses are the addresses of the node's pods, in files as host-local has them: one for each address, with the sandbox and its interface.
type addresses struct {
	// dir has the directory with the name of the network.
	dir, network, node string
	now                func() time.Time

	mu    sync.Mutex
	freed map[netip.Addr]time.Time
}

func newAddresses(dir, network, node string, now func() time.Time) *addresses {
	return &addresses{dir: dir, network: network, node: node, now: now, freed: map[netip.Addr]time.Time{}}
}

// open returns the files, locked against host-local and other processes.
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

// give gives a sandbox an address of a block: the one that it has, else the next one after the one that was given last. Addresses of the
// node, and those of the block's ends, are not given.
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

// reserve reserves the first free address from start on, once around. Those that rest are only taken if resting is true.
func (a *addresses) reserve(store *disk.Store, first, last, start netip.Addr, resting bool, containerID, ifName string) (netip.Addr, error) {
	for next, wrapped := start, false; ; next = next.Next() {
		if next.Compare(last) > 0 {
			next, wrapped = first, true
		}
		if wrapped && next.Compare(start) >= 0 {
			return netip.Addr{}, nil
		}
		if at, was := a.freed[next]; was && !resting && a.now().Sub(at) < restTime {
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

// beforeLast is the last address of a block but the broadcast address.
func beforeLast(block netip.Prefix) netip.Addr {
	b := block.Masked().Addr().As4()
	for bit := block.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b).Prev()
}

// release frees the addresses of a sandbox' interface.
func (a *addresses) release(containerID, ifName string) error {
	return a.releaseAll(func(id, name string) bool { return id == containerID && (name == ifName || name == "") })
}

// releaseAll frees the addresses for whose sandbox and interface gone is true.
func (a *addresses) releaseAll(gone func(containerID, ifName string) bool) error {
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
		if !gone(owner[0], owner[1]) {
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

// list returns the addresses that are given, with their sandboxes and interfaces.
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
			continue // the lock, and the address that was given last
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

// count is how many addresses are given.
func (a *addresses) count() int {
	all, err := a.list()
	if err != nil {
		return 0
	}
	return len(all)
}
