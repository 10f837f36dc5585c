package networkmanager

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// Apply implements hostapply.Backend. Profiles are staged in memory; Commit writes them to disk.
func (b *Backend) Apply(ctx context.Context, change hostapply.Change) error {
	p, err := b.plan(ctx, change)
	if err != nil {
		return err
	}
	if err := b.stage(ctx, p.early()); err != nil {
		return err
	}
	return b.bringUp(ctx, change, p)
}

// stage adds profiles to NetworkManager. It skips profiles that NetworkManager has already read from a file with the same content.
func (b *Backend) stage(ctx context.Context, profiles []profile) error {
	known, err := b.Bus.Profiles(ctx)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range profiles {
		if isKnown(known, p) {
			continue
		}
		b.Log.Debug("stage profiles", "file", p.file)
		changed = true
		if err := writeKeyfile(b.Run, p.file, []byte(p.content)); err != nil {
			return fmt.Errorf("stage a profile: %w", err)
		}
	}
	if !changed {
		return nil
	}
	if err := b.Bus.Reload(ctx); err != nil {
		return err
	}
	return b.checkRead(ctx, profiles)
}

// isKnown reports whether NetworkManager has read a profile from a file with the desired content.
func isKnown(known []nmdbus.Profile, p profile) bool {
	for _, k := range known {
		if k.UUID != p.uuid || filepath.Base(k.File) != p.file {
			continue
		}
		content, err := os.ReadFile(k.File)
		return err == nil && bytes.Equal(content, []byte(p.content))
	}
	return false
}

// bringUp deactivates undesired profiles, and activates the desired ones. It does not change devices that are up to date.
func (b *Backend) bringUp(ctx context.Context, change hostapply.Change, p plan) error {
	if err := b.takeDown(ctx, p); err != nil {
		return err
	}
	// A card loses its addresses before it becomes a port, and ports come before interfaces on the bridge.
	last := len(p.profiles)
	if first := slices.IndexFunc(p.profiles, p.late); first >= 0 {
		last = first
	}
	up := activation{activate: b.activate, awaitLACP: b.awaitLACP, log: b.Log}
	if err := up.all(ctx, p.profiles[:last]); err != nil {
		return err
	}
	if err := b.ensureBridges(ctx, change.Document, p.bySwitch); err != nil {
		return err
	}
	for _, q := range p.profiles[last:] {
		if !p.late(q) {
			continue
		}
		if err := b.adopt(ctx, q); err != nil {
			return err
		}
	}
	if err := b.enableAllMulticast(change.Document); err != nil {
		return err
	}
	if err := up.all(ctx, p.profiles[last:]); err != nil {
		return err
	}
	return b.setAltNames(livestate.AltNamesWanted(change.Document))
}

// takeDown deactivates interfaces that should be down, and removes those that should be absent.
func (b *Backend) takeDown(ctx context.Context, p plan) error {
	if len(p.absent) == 0 && len(p.down) == 0 {
		return nil
	}
	devices, err := b.Bus.Devices(ctx)
	if err != nil {
		return err
	}
	v := view{devices: devices}
	for _, name := range slices.Concat(p.down, p.absent) {
		if d, ok := v.real(name); ok && d.Active != nmdbus.None {
			if err := b.Bus.Disconnect(ctx, d.Path); err != nil {
				return fmt.Errorf("take %s down: %w", name, err)
			}
		}
	}
	for _, name := range p.absent {
		if p.bySwitch && p.bridges[name] {
			continue // removed by its creator
		}
		// A card cannot be removed, which NetworkManager reports as an error; removing its profile is sufficient.
		if d, ok := v.real(name); ok {
			if err := b.Bus.DeleteDevice(ctx, d.Path); err != nil {
				b.Log.Debug("device remains without a profile", "device", name, "because", err)
			}
		}
	}
	return nil
}
