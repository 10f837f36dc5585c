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

// loopback is the device that every host has.
const loopback = "lo"

// Restore implements hostapply.Backend.
func (b *Backend) Restore(ctx context.Context, change hostapply.Change, data hostapply.Snapshot) error {
	s, err := readSnapshot(data)
	if err != nil {
		return err
	}
	// Bridges first: a card that is still attached to one gets no packets.
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

// rollBack goes back to the checkpoint if it is there. What it leaves undone is done by hand afterwards.
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

// restoreFiles writes the keyfiles as they were, which a checkpoint rewrites in its own words or leaves as they are. Late profiles
// come last, when their devices are there.
func (b *Backend) restoreFiles(ctx context.Context, s snapshot) error {
	b.Log.Debug("restore profiles")
	have, err := readDirectory(b.Run)
	if err != nil {
		return fmt.Errorf("read profiles: %w", err)
	}
	early, late := s.inMemory(have)
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

// restoreDevices takes down what was not there, and activates what was active.
func (b *Backend) restoreDevices(ctx context.Context, change hostapply.Change, s snapshot) error {
	v, err := b.look(ctx)
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
			continue // only in NetworkManager's memory, and forgotten with a restart
		}
		failures = append(failures, b.activate(ctx, d.UUID, d.Interface))
	}
	return errors.Join(failures...)
}

// changedDevices returns the devices that a document names, without lo: the kernel owns it, and NetworkManager never counts
// it as disconnected.
func changedDevices(devices []nmdbus.Device, doc *nmstate.Document) []nmdbus.Device {
	return slices.DeleteFunc(slices.Clone(devices), func(d nmdbus.Device) bool {
		named := slices.ContainsFunc(doc.Interfaces, func(i nmstate.Interface) bool { return i.Name == d.Interface })
		return !named || !d.Real || d.Interface == loopback
	})
}

// restoreDevice removes a device that was not there, and disconnects one that had no profile.
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
	// A checkpoint brings back what others gave a device, with a profile that NetworkManager makes up.
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

// awaitDisconnect waits until NetworkManager has taken everything off a device: what is given to it before is taken, too.
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
		if err := pause(ctx, poll); err != nil {
			return fmt.Errorf("wait for %s to be disconnected: %w", d.Interface, err)
		}
	}
}
