package networkmanager

import (
	"context"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// view is the state of NetworkManager.
type view struct {
	devices  []nmdbus.Device
	active   []nmdbus.Active
	profiles []nmdbus.Profile
}

func (b *Backend) readView(ctx context.Context) (view, error) {
	var v view
	var err error
	if v.profiles, err = b.Bus.Profiles(ctx); err != nil {
		return v, err
	}
	if v.active, err = b.Bus.ActiveConnections(ctx); err != nil {
		return v, err
	}
	v.devices, err = b.Bus.Devices(ctx)
	return v, err
}

// devicesThen returns the devices with their active profiles: first active devices, in NetworkManager's order, then the others.
func (v view) devicesThen() []deviceThen {
	var out []deviceThen
	listed := map[nmdbus.Path]bool{}
	for _, a := range v.active {
		for _, path := range a.Devices {
			d, ok := v.device(path)
			if !ok || listed[path] {
				continue
			}
			listed[path] = true
			then := deviceThen{Interface: d.Interface}
			if !a.External {
				then.UUID = a.UUID
			}
			out = append(out, then)
		}
	}
	for _, d := range v.devices {
		if d.Real && !listed[d.Path] {
			out = append(out, deviceThen{Interface: d.Interface})
		}
	}
	return out
}

func (v view) device(path nmdbus.Path) (nmdbus.Device, bool) {
	for _, d := range v.devices {
		if d.Path == path {
			return d, true
		}
	}
	return nmdbus.Device{}, false
}

// real returns the existing device of a name.
func (v view) real(name string) (nmdbus.Device, bool) {
	for _, d := range v.devices {
		if d.Interface == name && d.Real {
			return d, true
		}
	}
	return nmdbus.Device{}, false
}

// placeholder reports whether NetworkManager only has a placeholder for a device.
func (v view) placeholder(name string) bool {
	_, real := v.real(name)
	return !real && slices.ContainsFunc(v.devices, func(d nmdbus.Device) bool { return d.Interface == name })
}

func (v view) profile(uuid string) (nmdbus.Profile, bool) {
	for _, p := range v.profiles {
		if p.UUID == uuid {
			return p, true
		}
	}
	return nmdbus.Profile{}, false
}

// activeOf returns the active or activating connection of a profile.
func (v view) activeOf(uuid string) (nmdbus.Active, bool) {
	for _, a := range v.active {
		if a.UUID == uuid && (a.State == nmdbus.Activating || a.State == nmdbus.Activated) {
			return a, true
		}
	}
	return nmdbus.Active{}, false
}

// activated reports whether a device has an active profile that NetworkManager did not generate.
func (v view) activated(d nmdbus.Device) bool {
	for _, a := range v.active {
		if a.Path == d.Active {
			return !a.External
		}
	}
	return false
}
