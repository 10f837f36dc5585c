package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

const (
	// poll is how often NetworkManager is asked how far an activation is. A question takes less than a millisecond.
	poll = 100 * time.Millisecond
	// tries is how often an activation is tried: right after a reload, devices of profiles that depend on one another
	// come and go.
	tries = 3
	// retryAfter is the pause between two tries.
	retryAfter = time.Second
)

// errFailed is the end of an activation that did not reach a device's addresses.
var errFailed = errors.New("NetworkManager failed (\"journalctl -u NetworkManager\" shows why)")

// activate brings a profile up, if it is not up with these very settings, and waits until only addresses are missing.
func (b *Backend) activate(ctx context.Context, uuid, device string) error {
	var err error
	for try := range tries {
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
	v, err := b.look(ctx)
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
		if done, err := b.inForce(ctx, active, p); err != nil || done {
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

// inForce reports whether a device runs with a profile as it is now, after it was made to if it could be without taking it down.
func (b *Backend) inForce(ctx context.Context, active nmdbus.Active, p nmdbus.Profile) (bool, error) {
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

// runs reports whether the devices of an active connection have the settings of its profile as they are now.
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

// await waits until an activation is through, or waits for nothing but addresses.
func (b *Backend) await(ctx context.Context, path nmdbus.Path) error {
	for {
		done, err := b.progress(ctx, path)
		if err != nil || done {
			return err
		}
		if err := pause(ctx, poll); err != nil {
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

// pause returns after a while, or with the context's error.
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
