package nmdbus

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// ActiveState is how far an active connection is. The numbers are those of NMActiveConnectionState.
type ActiveState uint32

// The states of an active connection.
const (
	Activating   ActiveState = 1
	Activated    ActiveState = 2
	Deactivating ActiveState = 3
	Deactivated  ActiveState = 4
)

// Active is a profile at work on its devices.
type Active struct {
	Path    Path
	UUID    string
	State   ActiveState
	Devices []Path
	// External marks one that NetworkManager made up for a device that a third party has configured.
	External bool
}

// flagExternal is NM_ACTIVATION_STATE_FLAG_EXTERNAL.
const flagExternal = 0x80

// ActiveConnections lists what is active, or on the way to it.
func (c *Client) ActiveConnections(ctx context.Context) ([]Active, error) {
	p, err := c.properties(ctx, managerPath, service)
	if err != nil {
		return nil, fmt.Errorf("list active connections: %w", err)
	}
	var out []Active
	for _, path := range get[[]Path](p, "ActiveConnections") {
		a, err := c.Active(ctx, path)
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// Active reads one active connection.
func (c *Client) Active(ctx context.Context, path Path) (Active, error) {
	p, err := c.properties(ctx, path, activeIface)
	if err != nil {
		return Active{}, fmt.Errorf("read an active connection: %w", err)
	}
	return Active{
		Path: path, UUID: get[string](p, "Uuid"), State: ActiveState(get[uint32](p, "State")), Devices: get[[]Path](p, "Devices"),
		External: get[uint32](p, "StateFlags")&flagExternal != 0,
	}, nil
}

// Activate activates a profile, on a device or, with None, on the one that the profile is bound to. It returns at once.
func (c *Client) Activate(ctx context.Context, profile, device Path) (Path, error) {
	var active Path
	if err := c.call(ctx, managerPath, service+".ActivateConnection", []any{&active}, profile, device, None); err != nil {
		return "", fmt.Errorf("activate a profile: %w", err)
	}
	return active, nil
}

// Checkpoint makes NetworkManager remember all devices and the profiles that are active on them. It goes back to them
// after the timeout, and then deletes profiles and disconnects devices that are new. Checkpoints that were there are
// forgotten. Seconds are its finest unit.
func (c *Client) Checkpoint(ctx context.Context, timeout time.Duration) (Path, error) {
	const destroyAll, deleteNewConnections, disconnectNewDevices = 1, 2, 4
	seconds := max(1, uint32((timeout+time.Second-1)/time.Second))
	var path Path
	err := c.call(ctx, managerPath, service+".CheckpointCreate", []any{&path},
		[]Path{}, seconds, uint32(destroyAll|deleteNewConnections|disconnectNewDevices))
	if err != nil {
		return "", fmt.Errorf("create a checkpoint: %w", err)
	}
	return path, nil
}

// HasCheckpoint reports whether a checkpoint is still armed.
func (c *Client) HasCheckpoint(ctx context.Context, path Path) (bool, error) {
	p, err := c.properties(ctx, managerPath, service)
	if err != nil {
		return false, fmt.Errorf("list checkpoints: %w", err)
	}
	return slices.Contains(get[[]Path](p, "Checkpoints"), path), nil
}

// DestroyCheckpoint disarms a checkpoint; what was changed since stays.
func (c *Client) DestroyCheckpoint(ctx context.Context, path Path) error {
	if err := c.call(ctx, managerPath, service+".CheckpointDestroy", nil, path); err != nil {
		return fmt.Errorf("destroy a checkpoint: %w", err)
	}
	return nil
}

// Rollback goes back to a checkpoint. Devices that could not be brought back are named with a number that says why.
func (c *Client) Rollback(ctx context.Context, path Path) (failed map[string]uint32, err error) {
	results := map[string]uint32{}
	if err := c.call(ctx, managerPath, service+".CheckpointRollback", []any{&results}, path); err != nil {
		return nil, fmt.Errorf("roll back to a checkpoint: %w", err)
	}
	for device, result := range results {
		if result == 0 {
			delete(results, device)
		}
	}
	return results, nil
}
