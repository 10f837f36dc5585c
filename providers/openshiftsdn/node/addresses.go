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
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	// rangeID is host-local's identifier of the first address range.
	rangeID = "0"
	// restTime is how long a released address is not reused while another one is free.
	restTime = time.Minute
	// releasedPrefix is the prefix of the files of released addresses. Their modification times are those of the releases.
	releasedPrefix = "released_ip."
)

// addresses allocates the addresses of the node's pods in files of host-local's format: one per address, with the sandbox and its interface. The file of a
// released address is renamed, and is removed when the address is reused or has rested: a process that is killed at any time leaves an address either
// allocated or released.
type addresses struct {
	// dir contains the directory with the files, which has the name of the plugin.
	dir, node string
	now       func() time.Time

	mu    sync.Mutex
	freed map[netip.Addr]time.Time
}

func newAddresses(dir, node string, now func() time.Time) *addresses {
	return &addresses{dir: dir, node: node, now: now, freed: map[netip.Addr]time.Time{}}
}

// load loads the releases of an earlier process. The clock may have been set since: a release in the future counts as one at this moment, so that no address
// rests for longer than restTime, which the agent measures with the monotonic clock.
func (a *addresses) load() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	entries, err := os.ReadDir(filepath.Join(a.dir, agentconfig.Plugin))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("list the released addresses: %w", err)
	}
	now := a.now()
	for _, e := range entries {
		name, released := strings.CutPrefix(e.Name(), releasedPrefix)
		address, err := netip.ParseAddr(name)
		if !released || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return fmt.Errorf("read released address %s: %w", address, err)
		}
		a.freed[address] = now.Add(-max(0, now.Sub(info.ModTime())))
	}
	return nil
}

// file returns the name of an address' file with a prefix.
func (a *addresses) file(prefix string, address netip.Addr) string {
	return filepath.Join(a.dir, agentconfig.Plugin, prefix+address.String())
}

// open opens the store and locks it against host-local and other processes.
func (a *addresses) open() (*disk.Store, error) {
	store, err := disk.New(agentconfig.Plugin, a.dir)
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
		if !resting && a.rests(next) {
			continue
		}
		reserved, err := store.Reserve(containerID, ifName, next.AsSlice(), rangeID)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("reserve address %s: %w", next, err)
		}
		if reserved {
			return next, a.forget(next)
		}
	}
}

// rests reports whether an address was released within restTime.
func (a *addresses) rests(address netip.Addr) bool {
	at, released := a.freed[address]
	return released && a.now().Sub(at) < restTime
}

// forget forgets the release of an address.
func (a *addresses) forget(address netip.Addr) error {
	if _, released := a.freed[address]; !released {
		return nil
	}
	if err := os.Remove(a.file(releasedPrefix, address)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the release of address %s: %w", address, err)
	}
	delete(a.freed, address)
	return nil
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
		if err := a.free(address); err != nil {
			errs = append(errs, fmt.Errorf("free address %s: %w", address, err))
			continue
		}
		a.freed[address] = a.now()
	}
	for address := range a.freed {
		if !a.rests(address) {
			errs = append(errs, a.forget(address))
		}
	}
	return errors.Join(errs...)
}

// free renames the file of an address, so that the next process knows the release. If that fails, for example on a full disk, free removes the file.
func (a *addresses) free(address netip.Addr) error {
	file, now := a.file("", address), a.now()
	err := os.Chtimes(file, now, now)
	if err == nil {
		err = os.Rename(file, a.file(releasedPrefix, address))
	}
	if err != nil {
		err = os.Remove(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
	dir := filepath.Join(a.dir, agentconfig.Plugin)
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
			continue // the lock, the last allocated address, and released ones
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
