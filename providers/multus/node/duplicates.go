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
	// reasonDuplicate: another host on the link has the address of a pod.
	reasonDuplicate = "AddressInUse"
	// duplicatesInterval is how often new sandboxes are checked.
	duplicatesInterval = 5 * time.Second
	// duplicatesConcurrency is the number of sandboxes checked at the same time. Each check waits for responses that normally do not come.
	duplicatesConcurrency = 16
)

// duplicates checks, once for each started sandbox, whether another host has the addresses of its additional networks. Addresses may come from any IPAM
// plugin: static ones from the pod's author, and a range may contain hosts that are unknown to the plugin. Conflicts are only reported, since it is unknown
// which host should have the address. All fields are required.
type duplicates struct {
	saved  func() ([]attach.Saved, error)
	holder func(netns, name string, address netip.Addr) (net.HardwareAddr, bool, error)
	event  func(pod wire.Pod, reason, message string)
	log    *slog.Logger

	mu sync.Mutex
	// probed has the sandboxes that were checked, with the number of duplicate addresses of each live one.
	probed map[string]int
}

func (d *duplicates) run(ctx context.Context) {
	ticker := time.NewTicker(duplicatesInterval)
	defer ticker.Stop()
	for {
		if err := d.check(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("cannot check for duplicate addresses of pods", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// count returns the number of duplicate addresses of live sandboxes.
func (d *duplicates) count() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, found := range d.probed {
		n += found
	}
	return n
}

// check probes new sandboxes, and removes deleted ones.
func (d *duplicates) check(ctx context.Context) error {
	all, err := d.saved()
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(duplicatesConcurrency)
	live := map[string]int{}
	for _, s := range all {
		d.mu.Lock()
		found, ok := d.probed[s.Sandbox]
		d.mu.Unlock()
		if ok {
			live[s.Sandbox] = found
			continue
		}
		group.Go(func() error {
			found := 0
			for _, n := range s.Networks {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if !n.Default {
					found += d.probe(s, n)
				}
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			live[s.Sandbox] = found
			return nil
		})
	}
	err = group.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.probed = live
	return err
}

// probe probes the addresses of a network, and returns the number of duplicate ones.
func (d *duplicates) probe(s attach.Saved, n wire.Network) (found int) {
	result, err := decodeResult(n.Result)
	if err != nil {
		return 0 // reported in the status of the pod
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
			return found // the sandbox has been deleted
		case err != nil:
			d.log.Warn("cannot check for duplicates of a pod's address", "namespace", s.Pod.Namespace, "pod", s.Pod.Name, "address", address, "error", err)
		case taken:
			found++
			d.event(s.Pod, reasonDuplicate, fmt.Sprintf("the address %s of interface %s (network %s) is also that of the machine with MAC address %s; packets reach one of the two. "+
				"Give one of them another address, and exclude addresses of machines outside of the cluster from the range of the network", address, name, n.Name, mac))
		}
	}
	return found
}

// interfaceOf returns the interface in the pod with an address; empty if there is none.
func interfaceOf(result *current.Result, ip *current.IPConfig, name string) string {
	if ip.Interface == nil {
		return name
	}
	if i := *ip.Interface; i >= 0 && i < len(result.Interfaces) && result.Interfaces[i].Sandbox != "" {
		return result.Interfaces[i].Name
	}
	return ""
}

// inside calls a function in the network namespace of a sandbox.
func inside(netns string, do func() error) error {
	return ns.WithNetNSPath(nsid.BelowRun(netns), func(ns.NetNS) error { return do() })
}
