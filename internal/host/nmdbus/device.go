package nmdbus

import (
	"context"
	"fmt"
)

// DeviceState is the state of a device. The numbers are those of NMDeviceState.
type DeviceState uint32

// Some states. A device between StateConnecting and StateActivated is being configured.
const (
	StateUnmanaged    DeviceState = 10
	StateUnavailable  DeviceState = 20
	StateDisconnected DeviceState = 30
	StateConnecting   DeviceState = 40
	StateIPConfig     DeviceState = 70
	StateActivated    DeviceState = 100
	StateDeactivating DeviceState = 110
	StateFailed       DeviceState = 120
)

// DeviceType is the type of a device. The numbers are those of NMDeviceType.
type DeviceType uint32

// Some types.
const (
	TypeGeneric DeviceType = 14
	TypeTUN     DeviceType = 16
)

// Device is a network device of NetworkManager.
type Device struct {
	Path      Path
	Interface string
	Type      DeviceType
	State     DeviceState
	// Reason is the NMDeviceStateReason of the state.
	Reason uint32
	// Real is false for a device that a profile defines and that does not exist yet.
	Real    bool
	Managed bool
	// Active is the active connection, or None.
	Active Path
}

// Devices lists all devices, including unmanaged ones.
func (c *Client) Devices(ctx context.Context) ([]Device, error) {
	var paths []Path
	if err := c.call(ctx, managerPath, service+".GetAllDevices", []any{&paths}); err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	devices := make([]Device, 0, len(paths))
	for _, path := range paths {
		p, err := c.properties(ctx, path, deviceIface)
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a device: %w", err)
		}
		d := Device{
			Path: path, Interface: get[string](p, "Interface"), Type: DeviceType(get[uint32](p, "DeviceType")),
			State: DeviceState(get[uint32](p, "State")), Real: get[bool](p, "Real"), Managed: get[bool](p, "Managed"),
			Active: get[Path](p, "ActiveConnection"),
		}
		if reason := get[[]any](p, "StateReason"); len(reason) == 2 {
			d.Reason, _ = reason[1].(uint32)
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// Manage makes NetworkManager manage a device, until it restarts.
func (c *Client) Manage(ctx context.Context, device Path) error {
	err := c.call(ctx, device, "org.freedesktop.DBus.Properties.Set", nil, deviceIface, "Managed", variant(true))
	if err != nil {
		return fmt.Errorf("manage a device: %w", err)
	}
	return nil
}

// Applied returns the active settings of a device. They differ from its profile if that has changed since the activation.
func (c *Client) Applied(ctx context.Context, device Path) (Settings, error) {
	var s Settings
	var version uint64
	if err := c.call(ctx, device, deviceIface+".GetAppliedConnection", []any{&s, &version}, uint32(0)); err != nil {
		return nil, fmt.Errorf("read the active settings: %w", err)
	}
	return s.normal(), nil
}

// Reapply applies a changed profile to a device without deactivating it. It fails if the change needs an activation.
func (c *Client) Reapply(ctx context.Context, device Path) error {
	if err := c.call(ctx, device, deviceIface+".Reapply", nil, Settings{}, uint64(0), uint32(0)); err != nil {
		return fmt.Errorf("reapply the profile: %w", err)
	}
	return nil
}

// Disconnect deactivates a device, and prevents NetworkManager from activating it again automatically.
func (c *Client) Disconnect(ctx context.Context, device Path) error {
	if err := c.call(ctx, device, deviceIface+".Disconnect", nil); err != nil && !Gone(err) {
		return fmt.Errorf("disconnect a device: %w", err)
	}
	return nil
}

// DeleteDevice deletes a software device.
func (c *Client) DeleteDevice(ctx context.Context, device Path) error {
	if err := c.call(ctx, device, deviceIface+".Delete", nil); err != nil && !Gone(err) {
		return fmt.Errorf("delete a device: %w", err)
	}
	return nil
}
