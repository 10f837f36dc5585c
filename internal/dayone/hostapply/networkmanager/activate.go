package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

const (
	// pollInterval is the interval at which the state of an activation is polled. A poll takes less than a millisecond.
	pollInterval = 100 * time.Millisecond
	// maxTries is the maximum number of attempts to activate a profile: after a reload, devices of dependent profiles may briefly disappear.
	maxTries = 3
	// retryAfter is the pause between two attempts.
	retryAfter = time.Second
)

// errFailed is the error of an activation that failed before the configuration of addresses.
var errFailed = errors.New("NetworkManager failed (\"journalctl -u NetworkManager\" shows why)")

// activate activates a profile unless it is active with the same settings, and waits until only addresses are missing.
func (b *Backend) activate(ctx context.Context, uuid, device string) error {
	var err error
	for try := range maxTries {
		if try > 0 {
			if waited := pause(ctx, retryAfter); waited != nil {
				return errors.Join(err, waited)
			}
		}
		if err = b.tryActivate(ctx, uuid, device); err == nil {
			return nil
		}
		b.Log.Debug("an activation failed", "uuid", uuid, "device", device, "try", try+1, "error", err)
	}
	return fmt.Errorf("activate %s: %w", device, err)
}

func (b *Backend) tryActivate(ctx context.Context, uuid, device string) error {
	v, err := b.readView(ctx)
	if err != nil {
		return err
	}
	p, ok := v.profile(uuid)
	if !ok {
		return fmt.Errorf("NetworkManager has no profile %s for it", uuid)
	}
	on := nmdbus.None
	if d, ok := v.real(device); ok {
		on = d.Path
	}
	if active, ok := v.activeOf(uuid); ok && !active.External {
		if done, err := b.ensureApplied(ctx, active, p); err != nil || done {
			return err
		}
	}
	b.Log.Debug("activate", "device", device, "profile", p.ID)
	active, err := b.Bus.Activate(ctx, p.Path, on)
	if err != nil {
		return err
	}
	return b.await(ctx, active)
}

// ensureApplied reports whether a device has the current settings of a profile. It reapplies changed settings if that is possible without deactivation.
func (b *Backend) ensureApplied(ctx context.Context, active nmdbus.Active, p nmdbus.Profile) (bool, error) {
	same, err := b.runs(ctx, active, p)
	if err != nil {
		return false, err
	}
	if same {
		return true, b.await(ctx, active.Path)
	}
	b.Log.Debug("reapply", "device", p.Interface, "profile", p.ID)
	for _, device := range active.Devices {
		if err := b.Bus.Reapply(ctx, device); err != nil {
			b.Log.Debug("a change needs an activation", "profile", p.ID, "because", err)
			return false, nil
		}
	}
	same, err = b.runs(ctx, active, p)
	return same, err
}

// runs reports whether the devices of an active connection have the current settings of its profile.
func (b *Backend) runs(ctx context.Context, active nmdbus.Active, p nmdbus.Profile) (bool, error) {
	if len(active.Devices) == 0 {
		return false, nil
	}
	for _, device := range active.Devices {
		applied, err := b.Bus.Applied(ctx, device)
		if nmdbus.Gone(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if !applied.Equal(p.Settings) {
			return false, nil
		}
	}
	return true, nil
}

// await waits until an activation has finished, or only waits for addresses.
func (b *Backend) await(ctx context.Context, path nmdbus.Path) error {
	for {
		done, err := b.progress(ctx, path)
		if err != nil || done {
			return err
		}
		if err := pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func (b *Backend) progress(ctx context.Context, path nmdbus.Path) (bool, error) {
	active, err := b.Bus.Active(ctx, path)
	switch {
	case nmdbus.Gone(err):
		return false, errFailed
	case err != nil:
		return false, err
	case active.State == nmdbus.Activated:
		return true, nil
	case active.State == nmdbus.Deactivating || active.State == nmdbus.Deactivated:
		return false, errFailed
	}
	devices, err := b.Bus.Devices(ctx)
	if err != nil {
		return false, err
	}
	for _, path := range active.Devices {
		d, ok := view{devices: devices}.device(path)
		if !ok || d.State < nmdbus.StateIPConfig {
			return false, nil
		}
		if d.State > nmdbus.StateActivated {
			return false, fmt.Errorf("%w: device %s, reason %d", errFailed, d.Interface, d.Reason)
		}
	}
	return len(active.Devices) > 0, nil
}

// pause sleeps for a duration, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
