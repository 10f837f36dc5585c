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

// patience is how long NetworkManager may have a placeholder for a device that the kernel has before it is taken for stuck.
// NetworkManager hears of a device within milliseconds.
const patience = 2 * time.Second

// late reports whether a profile is for a device that Open vSwitch makes. NetworkManager gets it when it has that device,
// and never from disk. A profile that comes first makes a placeholder; when the device appears in the moment between,
// as both daemons start at the same boot, NetworkManager 1.42 gives its number to the placeholder and then passes
// over the device as one that it has, for good.
func (p plan) late(q profile) bool { return p.bySwitch && q.internal }

// early are the profiles that are not late.
func (p plan) early() []profile {
	return slices.DeleteFunc(slices.Clone(p.profiles), p.late)
}

// adopt waits for the device that Open vSwitch makes, gives NetworkManager the profile in the form for the device's kind,
// and has it manage the device.
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

// awaitDevice returns a device when NetworkManager has it. If NetworkManager is stuck with a placeholder, the device is recreated.
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
		stuck += poll
		if there, err := b.inKernel(name); err != nil {
			return nmdbus.Device{}, err
		} else if !there || !v.placeholder(name) {
			stuck = 0
		}
		if stuck >= patience {
			if err := b.makeAnew(ctx, name); err != nil {
				return nmdbus.Device{}, fmt.Errorf("recreate %s: %w", name, err)
			}
			stuck = 0
		}
		if err := pause(ctx, poll); err != nil {
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

// makeAnew removes the bridge that an interface is on and brings it back as it was. NetworkManager forgets its placeholder
// with the device. The bridge carries no addresses yet: they are on a device that NetworkManager does not have.
func (b *Backend) makeAnew(ctx context.Context, name string) error {
	contents, err := b.OVS.Read(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(contents.Bridges, func(bridge livestate.Bridge) bool { return holds(bridge, name) })
	if at < 0 {
		return nil // gone meanwhile
	}
	bridge := contents.Bridges[at]
	b.Log.Warn("NetworkManager does not accept an existing device; its bridge is recreated", "device", name, "bridge", bridge.Name)
	if err := b.OVS.Ensure(ctx, ovsbridge.Change{Absent: []string{bridge.Name}}); err != nil {
		return err
	}
	gone := b.awaitGone(ctx, name)
	// Whatever happened, the bridge comes back.
	if err := b.OVS.Ensure(context.WithoutCancel(ctx), ovsbridge.Change{Bridges: []livestate.Bridge{bridge}, Exact: true}); err != nil {
		return err
	}
	return gone
}

func (b *Backend) awaitGone(ctx context.Context, name string) error {
	for {
		there, err := b.inKernel(name)
		if err != nil || !there {
			return err
		}
		if err := pause(ctx, poll); err != nil {
			return err
		}
	}
}

func holds(bridge livestate.Bridge, name string) bool {
	return slices.ContainsFunc(bridge.Ports, func(p livestate.BridgePort) bool {
		return slices.ContainsFunc(p.Interfaces, func(i livestate.BridgeInterface) bool { return i.Name == name })
	})
}
