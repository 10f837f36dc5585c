package networkmanager

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/nmdbus"
)

// Backend changes the network with NetworkManager. All fields must be set.
type Backend struct {
	// Bus is the connection to NetworkManager.
	Bus *nmdbus.Client
	// Kernel reads the state of the kernel; the backend adds that of Open vSwitch and NetworkManager.
	Kernel func() (livestate.State, error)
	// Netlink restores devices without a profile.
	Netlink *netlink.Handle
	// OVS is Open vSwitch's database. The backend creates bridges in it only if NetworkManager cannot.
	OVS ovsbridge.Database
	// Etc and Run are NetworkManager's directories of profiles on disk and in memory; see DefaultEtc and DefaultRun.
	Etc, Run string
	// Sys is /sys/class/net.
	Sys fs.FS
	Now func() time.Time
	Log *slog.Logger
}

// NetworkManager's directories of profiles.
const (
	DefaultEtc = "/etc/NetworkManager/system-connections"
	DefaultRun = "/run/NetworkManager/system-connections"
)

var _ hostapply.Backend = (*Backend)(nil)

// plan is the plan of a change on this host.
type plan struct {
	profiles []profile // in the order of activation
	// absent are interfaces that should have no profile, down those that should have no active one.
	absent, down []string
	// bridges are the absent interfaces that are Open vSwitch bridges.
	bridges map[string]bool
	// bySwitch is true if bridges are created in Open vSwitch's database.
	bySwitch bool
}

// plan converts a change to profiles.
func (b *Backend) plan(ctx context.Context, change hostapply.Change) (plan, error) {
	doc := change.Document
	files, problems := nmconn.Profiles(doc)
	if err := problems.Err(); err != nil {
		return plan{}, fmt.Errorf("render the profiles of the document: %w", err)
	}
	p := plan{profiles: profilesOf(files, change.Volatile), bridges: map[string]bool{}}
	for _, i := range doc.Interfaces {
		switch i.State {
		case nmstate.StateAbsent:
			p.absent = append(p.absent, i.Name)
			p.bridges[i.Name] = i.Kind() == nmstate.TypeOVSBridge || i.Kind() == nmstate.TypeOVSInterface
		case nmstate.StateDown:
			p.down = append(p.down, i.Name)
		}
	}
	if hasBridges(doc) {
		info, err := b.Bus.Info(ctx)
		if err != nil {
			return plan{}, err
		}
		if p.bySwitch = !info.OVS; p.bySwitch {
			if p.profiles, err = b.withoutPlugin(ctx, p.profiles); err != nil {
				return plan{}, err
			}
		}
	}
	p.profiles = inOrder(p.profiles)
	return p, nil
}

// withoutPlugin calls the function withoutPlugin, with the types of existing devices.
func (b *Backend) withoutPlugin(ctx context.Context, profiles []profile) ([]profile, error) {
	devices, err := b.Bus.Devices(ctx)
	if err != nil {
		return nil, err
	}
	out := withoutPlugin(profiles)
	for i, p := range out {
		if d, ok := (view{devices: devices}).real(p.device); ok && p.internal && d.Type == nmdbus.TypeGeneric {
			out[i] = forGeneric(p)
		}
	}
	return out, nil
}
