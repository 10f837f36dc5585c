package nmdbus

import (
	"context"
	"fmt"
	"reflect"

	"github.com/godbus/dbus/v5"
)

// Settings are a profile's settings: section, key, value.
type Settings map[string]map[string]dbus.Variant

// Text returns a string setting; empty if it is missing.
func (s Settings) Text(section, key string) string { return get[string](s[section], key) }

// Integer returns an integer setting; ok is false if it is missing.
func (s Settings) Integer(section, key string) (value int64, ok bool) {
	switch v := s[section][key].Value().(type) {
	case int32:
		return int64(v), true
	case uint32:
		return int64(v), true
	case int64:
		return v, true
	}
	return 0, false
}

// Flag returns a boolean setting; false if it is missing.
func (s Settings) Flag(section, key string) bool { return get[bool](s[section], key) }

// Equal reports whether two settings are equal.
func (s Settings) Equal(o Settings) bool { return reflect.DeepEqual(s, o) }

// normal removes the time stamp, which NetworkManager itself changes.
func (s Settings) normal() Settings {
	delete(s["connection"], "timestamp")
	return s
}

// Profile is a connection profile.
type Profile struct {
	Path Path
	// File is the keyfile; empty for a profile in memory.
	File     string
	UUID, ID string
	// Type is the name of the main section: 802-3-ethernet, bridge, ...
	Type string
	// Interface is the name of the device that the profile is bound to; empty if it is bound to none, or to a MAC address.
	Interface string
	Settings  Settings
}

// Profiles lists all profiles.
func (c *Client) Profiles(ctx context.Context) ([]Profile, error) {
	var paths []Path
	if err := c.call(ctx, settingsPath, settingsIface+".ListConnections", []any{&paths}); err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	profiles := make([]Profile, 0, len(paths))
	for _, path := range paths {
		p := Profile{Path: path}
		err := c.call(ctx, path, connectionIface+".GetSettings", []any{&p.Settings})
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a profile: %w", err)
		}
		properties, err := c.properties(ctx, path, connectionIface)
		if Gone(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the file name of a profile: %w", err)
		}
		p.Settings = p.Settings.normal()
		p.File = get[string](properties, "Filename")
		p.UUID, p.ID = p.Settings.Text("connection", "uuid"), p.Settings.Text("connection", "id")
		p.Type, p.Interface = p.Settings.Text("connection", "type"), p.Settings.Text("connection", "interface-name")
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// Reload makes NetworkManager read all keyfiles again. It removes profiles without a file; their devices stay active until they are deactivated, except
// software devices of the profile.
func (c *Client) Reload(ctx context.Context) error {
	var ok bool
	if err := c.call(ctx, settingsPath, settingsIface+".ReloadConnections", []any{&ok}); err != nil {
		return fmt.Errorf("reload profiles: %w", err)
	}
	return nil
}

// Resolver is the DNS configuration of an interface.
type Resolver struct {
	Interface string
	Servers   []string
	Domains   []string
	Priority  int32
}

// Resolvers returns the DNS configuration, in the order of priority.
func (c *Client) Resolvers(ctx context.Context) ([]Resolver, error) {
	p, err := c.properties(ctx, dnsPath, dnsIface)
	if err != nil {
		return nil, fmt.Errorf("read the DNS configuration: %w", err)
	}
	var out []Resolver
	for _, entry := range get[[]map[string]dbus.Variant](p, "Configuration") {
		out = append(out, Resolver{
			Interface: get[string](entry, "interface"), Servers: get[[]string](entry, "nameservers"),
			Domains: get[[]string](entry, "domains"), Priority: get[int32](entry, "priority"),
		})
	}
	return out, nil
}

func variant(v any) dbus.Variant { return dbus.MakeVariant(v) }
