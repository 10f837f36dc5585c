package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// loopback is the loopback device.
const loopback = "lo"

// Restore implements hostapply.Backend.
func (b *Backend) Restore(ctx context.Context, change hostapply.Change, data hostapply.Snapshot) error {
	s, err := readSnapshot(data)
	if err != nil {
		return err
	}
	// Bridges first: a card that is attached to a bridge receives no packets.
	if err := b.restoreBridges(ctx, change.Document, s.OVS); err != nil {
		return err
	}
	if err := b.rollBack(ctx, s); err != nil {
		return err
	}
	if err := b.restoreFiles(ctx, s); err != nil {
		return err
	}
	if err := b.restoreDevices(ctx, change, s); err != nil {
		return err
	}
	if err := b.restoreExternals(ctx, s.Externals); err != nil {
		return err
	}
	return b.setAltNames(livestate.AltNamesBefore(change.Document, livestate.State{Links: s.Named}))
}

// rollBack rolls back to the checkpoint if it exists. Later steps restore the rest.
func (b *Backend) rollBack(ctx context.Context, s snapshot) error {
	armed, err := b.Bus.HasCheckpoint(ctx, s.Checkpoint)
	if err != nil || !armed {
		return err
	}
	b.Log.Debug("roll back")
	failed, err := b.Bus.Rollback(ctx, s.Checkpoint)
	if err != nil || len(failed) > 0 {
		b.Log.Warn("the checkpoint could not be restored entirely", "devices", failed, "error", err)
	}
	return nil
}

// restoreFiles restores the content of the keyfiles, which a checkpoint may rewrite or not restore. Late profiles come last, after their devices.
func (b *Backend) restoreFiles(ctx context.Context, s snapshot) error {
	b.Log.Debug("restore profiles")
	existing, err := readDirectory(b.Run)
	if err != nil {
		return fmt.Errorf("read profiles: %w", err)
	}
	early, late := s.inMemory(existing)
	run, err := writeDirectory(b.Run, early)
	if err != nil {
		return fmt.Errorf("restore profiles: %w", err)
	}
	etc, err := writeDirectory(b.Etc, s.Etc)
	if err != nil {
		return fmt.Errorf("restore profiles: %w", err)
	}
	if run || etc {
		if err := b.Bus.Reload(ctx); err != nil {
			return err
		}
	}
	for _, p := range late {
		if err := b.adopt(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// restoreDevices removes new devices, and activates the profiles that were active.
func (b *Backend) restoreDevices(ctx context.Context, change hostapply.Change, s snapshot) error {
	v, err := b.readView(ctx)
	if err != nil {
		return err
	}
	for _, d := range changedDevices(v.devices, change.Document) {
		if err := b.restoreDevice(ctx, v, d, s); err != nil {
			return err
		}
	}
	var failures []error
	for _, d := range s.Devices {
		if _, ok := v.profile(d.UUID); !ok {
			continue // only in memory, and lost when NetworkManager restarts
		}
		failures = append(failures, b.activate(ctx, d.UUID, d.Interface))
	}
	return errors.Join(failures...)
}

// changedDevices returns the devices that a document names, except lo, which NetworkManager never reports as disconnected.
func changedDevices(devices []nmdbus.Device, doc *nmstate.Document) []nmdbus.Device {
	return slices.DeleteFunc(slices.Clone(devices), func(d nmdbus.Device) bool {
		named := slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == d.Interface })
		return !named || !d.Real || d.Interface == loopback
	})
}

// restoreDevice removes a new device, and disconnects a device that had no profile.
func (b *Backend) restoreDevice(ctx context.Context, v view, d nmdbus.Device, s snapshot) error {
	at := slices.IndexFunc(s.Devices, func(then deviceThen) bool { return then.Interface == d.Interface })
	switch {
	case at < 0:
		if err := b.Bus.DeleteDevice(ctx, d.Path); err != nil {
			b.Log.Warn("a new device could not be removed", "device", d.Interface, "error", err)
		}
		return nil
	case s.Devices[at].UUID != "" || !v.activated(d):
		return nil
	}
	// A checkpoint restores the configuration of third parties with a generated profile.
	state, err := b.Kernel()
	if err != nil {
		return err
	}
	if hasExternal(state, d.Interface, s.Externals) {
		return nil
	}
	if err := b.Bus.Disconnect(ctx, d.Path); err != nil {
		return err
	}
	return b.awaitDisconnect(ctx, d.Path)
}

// awaitDisconnect waits until NetworkManager has removed the configuration of a device; it would also remove configuration that is added before.
func (b *Backend) awaitDisconnect(ctx context.Context, path nmdbus.Path) error {
	for {
		devices, err := b.Bus.Devices(ctx)
		if err != nil {
			return err
		}
		d, ok := view{devices: devices}.device(path)
		if !ok || d.Active == nmdbus.None && d.State <= nmdbus.StateDisconnected {
			return nil
		}
		if err := pause(ctx, pollInterval); err != nil {
			return fmt.Errorf("wait for %s to be disconnected: %w", d.Interface, err)
		}
	}
}
