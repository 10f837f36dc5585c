package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/plugins/pkg/ns"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/host/nsid"
	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

const (
	// reasonDuplicate is that of the event on a pod whose address another machine of the link has.
	reasonDuplicate = "AddressInUse"
	// duplicatesEvery is how often new sandboxes are looked for.
	duplicatesEvery = 5 * time.Second
	// duplicatesAtOnce is how many sandboxes are asked about at once: each waits for answers that do not come.
	duplicatesAtOnce = 16
)

// duplicates looks, once for each sandbox and after it has started, whether another machine has the addresses of its further networks. Addresses may come from
// any address manager: static ones are the pod's author's, and a range may contain a machine of which no address manager knows. It only
// reports: which of the two should have the address it cannot know. All fields must be set.
type duplicates struct {
	saved  func() ([]attach.Saved, error)
	holder func(netns, name string, address netip.Addr) (net.HardwareAddr, bool, error)
	event  func(pod wire.Pod, reason, message string)
	log    *slog.Logger

	mu sync.Mutex
	// asked are the sandboxes that were asked about, found is how many addresses of living ones another machine has.
	asked map[string]int
}

func (d *duplicates) run(ctx context.Context) {
	ticker := time.NewTicker(duplicatesEvery)
	defer ticker.Stop()
	for {
		if err := d.look(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("whether other machines have addresses of pods is not known", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// count is how many addresses of living sandboxes another machine had.
func (d *duplicates) count() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, found := range d.asked {
		n += found
	}
	return n
}

// look asks about the sandboxes that are new, and forgets those that are gone.
func (d *duplicates) look(ctx context.Context) error {
	all, err := d.saved()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(duplicatesAtOnce)
	living := map[string]int{}
	for _, s := range all {
		d.mu.Lock()
		found, known := d.asked[s.Sandbox]
		d.mu.Unlock()
		if known {
			living[s.Sandbox] = found
			continue
		}
		group.Go(func() error {
			found := 0
			for _, n := range s.Networks {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if !n.Default {
					found += d.ask(s, n)
				}
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			living[s.Sandbox] = found
			return nil
		})
	}
	err = group.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = living
	return err
}

// ask asks about the addresses of a network, and returns how many another machine has.
func (d *duplicates) ask(s attach.Saved, n wire.Network) (found int) {
	result, err := decodeResult(n.Result)
	if err != nil {
		return 0 // the status of the pod says so
	}
	for _, ip := range result.IPs {
		address, ok := netip.AddrFromSlice(ip.Address.IP)
		name := interfaceOf(result, ip, n.Interface)
		if address = address.Unmap(); !ok || address.IsLinkLocalUnicast() || name == "" {
			continue
		}
		mac, taken, err := d.holder(s.NetNS, name, address)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return found // the sandbox has ended
		case err != nil:
			d.log.Warn("whether another machine has the address of a pod is not known", "namespace", s.Pod.Namespace, "pod", s.Pod.Name, "address", address, "error", err)
		case taken:
			found++
			d.event(s.Pod, reasonDuplicate, fmt.Sprintf("the address %s of interface %s (network %s) is also that of the machine with MAC address %s; packets reach one of the two. "+
				"Give one of them another address, and exclude addresses of machines outside of the cluster from the range of the network", address, name, n.Name, mac))
		}
	}
	return found
}

// interfaceOf is the interface in the pod that has an address; empty if it has none there.
func interfaceOf(result *current.Result, ip *current.IPConfig, name string) string {
	if ip.Interface == nil {
		return name
	}
	if i := *ip.Interface; i >= 0 && i < len(result.Interfaces) && result.Interfaces[i].Sandbox != "" {
		return result.Interfaces[i].Name
	}
	return ""
}

// inside calls a function in the network namespace of a sandbox, as the container of a daemon has it.
func inside(netns string, do func() error) error {
	return ns.WithNetNSPath(nsid.BelowRun(netns), func(ns.NetNS) error { return do() })
}
