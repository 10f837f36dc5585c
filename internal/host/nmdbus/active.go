package nmdbus

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// ActiveState is the state of an active connection. The numbers are those of NMActiveConnectionState.
type ActiveState uint32

// The states of an active connection.
const (
	Activating   ActiveState = 1
	Activated    ActiveState = 2
	Deactivating ActiveState = 3
	Deactivated  ActiveState = 4
)

// Active is an active connection: a profile that is activated on devices.
type Active struct {
	Path    Path
	UUID    string
	State   ActiveState
	Devices []Path
	// External is true if NetworkManager created the profile in memory for a device that a third party configured.
	External bool
}

// flagExternal is NM_ACTIVATION_STATE_FLAG_EXTERNAL.
const flagExternal = 0x80

// ActiveConnections lists the active and activating connections.
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

// Activate activates a profile on a device, or with None on the device that the profile is bound to. It does not wait for the activation.
func (c *Client) Activate(ctx context.Context, profile, device Path) (Path, error) {
	var active Path
	if err := c.call(ctx, managerPath, service+".ActivateConnection", []any{&active}, profile, device, None); err != nil {
		return "", fmt.Errorf("activate a profile: %w", err)
	}
	return active, nil
}

// Checkpoint creates a checkpoint of all devices and their active profiles, and destroys earlier checkpoints. After the timeout, which is rounded up to
// seconds, NetworkManager rolls back to the checkpoint, deletes new profiles and disconnects new devices.
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

// HasCheckpoint reports whether a checkpoint exists.
func (c *Client) HasCheckpoint(ctx context.Context, path Path) (bool, error) {
	p, err := c.properties(ctx, managerPath, service)
	if err != nil {
		return false, fmt.Errorf("list checkpoints: %w", err)
	}
	return slices.Contains(get[[]Path](p, "Checkpoints"), path), nil
}

// DestroyCheckpoint destroys a checkpoint, and keeps the changes since its creation.
func (c *Client) DestroyCheckpoint(ctx context.Context, path Path) error {
	if err := c.call(ctx, managerPath, service+".CheckpointDestroy", nil, path); err != nil {
		return fmt.Errorf("destroy a checkpoint: %w", err)
	}
	return nil
}

// Rollback rolls back to a checkpoint. failed has the devices that could not be restored, with NetworkManager's result code.
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
