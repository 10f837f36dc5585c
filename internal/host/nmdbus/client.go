// Package nmdbus is a D-Bus client of NetworkManager: devices, profiles, active connections and checkpoints. Objects may be removed at any time; Gone
// recognizes the resulting errors. A Client is safe for concurrent use. It survives a restart of NetworkManager, but not of the bus.
package nmdbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/godbus/dbus/v5"
)

// Path is the path of an object of NetworkManager, or None.
type Path = dbus.ObjectPath

// None means no object.
const None Path = "/"

const (
	service      = "org.freedesktop.NetworkManager"
	managerPath  = Path("/org/freedesktop/NetworkManager")
	settingsPath = Path("/org/freedesktop/NetworkManager/Settings")
	dnsPath      = Path("/org/freedesktop/NetworkManager/DnsManager")

	settingsIface   = service + ".Settings"
	connectionIface = service + ".Settings.Connection"
	deviceIface     = service + ".Device"
	activeIface     = service + ".Connection.Active"
	dnsIface        = service + ".DnsManager"
)

// capabilityOVS is NM_CAPABILITY_OVS: the plug-in for Open vSwitch is loaded.
const capabilityOVS = 2

// Client is a connection to the message bus.
type Client struct{ conn *dbus.Conn }

// Dial connects to the bus at an address, for example unix:path=/run/dbus/system_bus_socket; the empty address is the
// system bus. NetworkManager need not run yet.
func Dial(address string) (*Client, error) {
	connect := func() (*dbus.Conn, error) { return dbus.ConnectSystemBus() }
	if address != "" {
		connect = func() (*dbus.Conn, error) { return dbus.Connect(address) }
	}
	conn, err := connect()
	if err != nil {
		return nil, fmt.Errorf("connect to the message bus: %w", err)
	}
	return &Client{conn: conn}, nil
}

// Close closes the connection. Checkpoints remain.
func (c *Client) Close() error { return c.conn.Close() }

// Gone reports whether an error means that an object or NetworkManager itself does not exist, or is no longer active.
func Gone(err error) bool {
	var e dbus.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Name {
	case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
		"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
		service + ".UnknownDevice", service + ".UnknownConnection", service + ".ConnectionNotActive", deviceIface + ".NotActive":
		return true
	}
	return false
}

// Running reports whether NetworkManager is on the bus.
func (c *Client) Running(ctx context.Context) (bool, error) {
	var hasOwner bool
	err := c.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, service).Store(&hasOwner)
	if err != nil {
		return false, fmt.Errorf("ask the message bus for NetworkManager: %w", err)
	}
	return hasOwner, nil
}

// Info has properties of NetworkManager.
type Info struct {
	Version string
	// OVS reports whether profiles of Open vSwitch can be activated.
	OVS bool
	// Startup is true while NetworkManager activates connections after its own start.
	Startup bool
}

// Info reads the properties of NetworkManager.
func (c *Client) Info(ctx context.Context) (Info, error) {
	p, err := c.properties(ctx, managerPath, service)
	if err != nil {
		return Info{}, fmt.Errorf("read NetworkManager's properties: %w", err)
	}
	info := Info{Version: get[string](p, "Version"), Startup: get[bool](p, "Startup")}
	for _, capability := range get[[]uint32](p, "Capabilities") {
		info.OVS = info.OVS || capability == capabilityOVS
	}
	return info, nil
}

func (c *Client) call(ctx context.Context, path Path, method string, results []any, args ...any) error {
	call := c.conn.Object(service, path).CallWithContext(ctx, method, 0, args...)
	if call.Err != nil {
		return call.Err
	}
	return call.Store(results...)
}

func (c *Client) properties(ctx context.Context, path Path, iface string) (map[string]dbus.Variant, error) {
	var p map[string]dbus.Variant
	err := c.call(ctx, path, "org.freedesktop.DBus.Properties.GetAll", []any{&p}, iface)
	return p, err
}

// get returns a property, or the zero value if it is missing or of another type.
func get[T any](p map[string]dbus.Variant, name string) T {
	v, _ := p[name].Value().(T)
	return v
}
