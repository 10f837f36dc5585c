package networkmanager

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// placeholderTimeout is how long NetworkManager may have a placeholder for a device of the kernel before it is considered stuck. Normally it detects a device
// within milliseconds.
const placeholderTimeout = 2 * time.Second

// late reports whether a profile is for a device that Open vSwitch creates. Such a profile is added after NetworkManager has detected the device, and is
// never on disk. An earlier profile would create a placeholder; if the device appears at the same time, as during a boot, NetworkManager 1.42 assigns its
// index to the placeholder and then ignores the device permanently.
func (p plan) late(q profile) bool { return p.bySwitch && q.internal }

// early returns the profiles that are not late.
func (p plan) early() []profile {
	return slices.DeleteFunc(slices.Clone(p.profiles), p.late)
}

// adopt waits for the device that Open vSwitch creates, adds its profile in the form for the device's type to NetworkManager, and makes NetworkManager
// manage the device.
func (b *Backend) adopt(ctx context.Context, p profile) error {
	d, err := b.awaitDevice(ctx, p.device)
	if err != nil {
		return fmt.Errorf("wait for NetworkManager to see %s, which Open vSwitch creates: %w", p.device, err)
	}
	if d.Type == nmdbus.TypeGeneric && p.kind != "generic" {
		p = forGeneric(p)
	}
	if err := b.stage(ctx, []profile{p}); err != nil {
		return err
	}
	if d.State != nmdbus.StateUnmanaged {
		return nil
	}
	return b.Bus.Manage(ctx, d.Path)
}

// awaitDevice waits until NetworkManager has detected a device, and returns it. If NetworkManager is stuck with a placeholder, it recreates the device.
func (b *Backend) awaitDevice(ctx context.Context, name string) (nmdbus.Device, error) {
	var stuck time.Duration
	for {
		devices, err := b.Bus.Devices(ctx)
		if err != nil {
			return nmdbus.Device{}, err
		}
		v := view{devices: devices}
		if d, ok := v.real(name); ok {
			return d, nil
		}
		stuck += pollInterval
		if exists, err := b.inKernel(name); err != nil {
			return nmdbus.Device{}, err
		} else if !exists || !v.placeholder(name) {
			stuck = 0
		}
		if stuck >= placeholderTimeout {
			if err := b.recreate(ctx, name); err != nil {
				return nmdbus.Device{}, fmt.Errorf("recreate %s: %w", name, err)
			}
			stuck = 0
		}
		if err := pause(ctx, pollInterval); err != nil {
			return nmdbus.Device{}, err
		}
	}
}

func (b *Backend) inKernel(name string) (bool, error) {
	state, err := b.Kernel()
	if err != nil {
		return false, err
	}
	_, ok := state.Link(name)
	return ok, nil
}

// recreate deletes and recreates the bridge of an interface, so that NetworkManager drops its placeholder with the device. The bridge has no addresses yet,
// since they are on a device that NetworkManager has not detected.
func (b *Backend) recreate(ctx context.Context, name string) error {
	contents, err := b.OVS.Read(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(contents.Bridges, func(bridge livestate.Bridge) bool { return holds(bridge, name) })
	if at < 0 {
		return nil // removed meanwhile
	}
	bridge := contents.Bridges[at]
	b.Log.Warn("NetworkManager does not accept an existing device; its bridge is recreated", "device", name, "bridge", bridge.Name)
	if err := b.OVS.Ensure(ctx, ovsbridge.Change{Absent: []string{bridge.Name}}); err != nil {
		return err
	}
	removeErr := b.awaitRemoval(ctx, name)
	// Restore the bridge in any case.
	if err := b.OVS.Ensure(context.WithoutCancel(ctx), ovsbridge.Change{Bridges: []livestate.Bridge{bridge}, Exact: true}); err != nil {
		return err
	}
	return removeErr
}

func (b *Backend) awaitRemoval(ctx context.Context, name string) error {
	for {
		exists, err := b.inKernel(name)
		if err != nil || !exists {
			return err
		}
		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func holds(bridge livestate.Bridge, name string) bool {
	return slices.ContainsFunc(bridge.Ports, func(p livestate.BridgePort) bool {
		return slices.ContainsFunc(p.Interfaces, func(i livestate.BridgeInterface) bool { return i.Name == name })
	})
}
