package networkmanager

import (
	"context"
	"slices"

	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// view is what NetworkManager has at one moment.
type view struct {
	devices  []nmdbus.Device
	active   []nmdbus.Active
	profiles []nmdbus.Profile
}

func (b *Backend) look(ctx context.Context) (view, error) {
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

// then lists the devices with what is active on them: first what is active, in NetworkManager's order, then the rest.
func (v view) then() []deviceThen {
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

// placeholder reports whether NetworkManager has nothing but a profile's promise of a device.
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

// activeOf returns what a profile is active as, or on its way to it.
func (v view) activeOf(uuid string) (nmdbus.Active, bool) {
	for _, a := range v.active {
		if a.UUID == uuid && (a.State == nmdbus.Activating || a.State == nmdbus.Activated) {
			return a, true
		}
	}
	return nmdbus.Active{}, false
}

// activated reports whether a device runs with a profile that someone wrote.
func (v view) activated(d nmdbus.Device) bool {
	for _, a := range v.active {
		if a.Path == d.Active {
			return !a.External
		}
	}
	return false
}
