package netlinkovs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/kernelstate"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// Backend changes the network of the namespace that the process is in. All fields must be set.
type Backend struct {
	Netlink *netlink.Handle
	OVS     ovsbridge.Database
	// ResolvConf is the file with the DNS servers, usually /etc/resolv.conf.
	ResolvConf string
	// Sys is /sys/class/net.
	Sys fs.FS
	// Leases is the directory in which the leases are written down that Keep renews. It does not outlive the boot.
	Leases string
	Now    func() time.Time
	Log    *slog.Logger
}

var _ hostapply.Backend = (*Backend)(nil)

// snapshot is what Restore needs.
type snapshot struct {
	State livestate.State    `json:"state"`
	OVS   ovsbridge.Contents `json:"ovs"`
	// Links are those that the change may touch.
	Links []string `json:"links"`
	// Bridges are those of Open vSwitch that it may touch.
	Bridges []string `json:"bridges"`
	// Sysctls are below net/ipv6/conf, by link and name.
	Sysctls    map[string]map[string]string `json:"sysctls"`
	Leases     map[string]record            `json:"leases"`
	ResolvConf []byte                       `json:"resolvConf"`
}

// sysctls are those that a change may set.
func sysctls() []string {
	return []string{"disable_ipv6", "accept_ra", "autoconf", "accept_ra_defrtr", "ra_defrtr_metric", "addr_gen_mode"}
}

// Live reads the kernel and the database of Open vSwitch.
func (b *Backend) Live(ctx context.Context) (livestate.State, error) {
	s, _, err := b.live(ctx)
	return s, err
}

func (b *Backend) live(ctx context.Context) (livestate.State, ovsbridge.Contents, error) {
	s, err := kernelstate.Reader{Netlink: b.Netlink, ResolvConf: b.ResolvConf}.Read()
	if err != nil {
		return s, ovsbridge.Contents{}, err
	}
	ovs, err := b.OVS.Read(ctx)
	if err != nil && !errors.Is(err, ovsbridge.ErrAbsent) {
		return s, ovs, err
	}
	ovs.AddTo(&s)
	return s, ovs, nil
}

// Snapshot refuses what this backend cannot apply, and reads everything that the change may touch.
func (b *Backend) Snapshot(ctx context.Context, change hostapply.Change) (hostapply.Snapshot, error) {
	if failures := Unsupported(change.Document); len(failures) > 0 {
		return nil, errors.Join(failures...)
	}
	live, ovs, err := b.live(ctx)
	if err != nil {
		return nil, err
	}
	s := snapshot{
		State: live, OVS: ovs, Links: touched(change.Document, live), Bridges: ovsbridge.Affected(ovs.Bridges, change.Document),
		Sysctls: map[string]map[string]string{},
	}
	for _, name := range s.Links {
		s.Sysctls[name] = map[string]string{}
		for _, key := range sysctls() {
			if value, err := os.ReadFile(sysctlPath(name, key)); err == nil {
				s.Sysctls[name][key] = strings.TrimSpace(string(value))
			}
		}
	}
	if s.Leases, err = b.records(); err != nil {
		return nil, err
	}
	if s.ResolvConf, err = os.ReadFile(b.ResolvConf); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return json.Marshal(s)
}

// Apply brings the network to the document.
func (b *Backend) Apply(ctx context.Context, change hostapply.Change) error {
	live, err := b.Live(ctx)
	if err != nil {
		return err
	}
	return b.reach(ctx, goalOf(change.Document, live.Hostname))
}

// Commit has nothing to do: the kernel keeps what was applied until the next boot, when the engine applies it again, and
// Open vSwitch's database is on disk.
func (b *Backend) Commit(context.Context, hostapply.Change, hostapply.Snapshot) error { return nil }

// Restore brings back what the snapshot has. Addresses that were leased come back with the time that they had left.
func (b *Backend) Restore(ctx context.Context, change hostapply.Change, data hostapply.Snapshot) error {
	var s snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	live, err := b.Live(ctx)
	if err != nil {
		return err
	}
	failure := b.reach(ctx, goalBefore(s, change.Document, live))
	return errors.Join(failure, b.writeRecords(s.Leases), restoreFile(b.ResolvConf, s.ResolvConf))
}

// reach carries out both halves of a plan.
func (b *Backend) reach(ctx context.Context, g goal) error {
	live, err := b.Live(ctx)
	if err != nil {
		return err
	}
	if err := b.execute(ctx, planLinks(g, live)); err != nil {
		return err
	}
	if live, err = b.Live(ctx); err != nil {
		return err
	}
	if err := b.dropLeases(g); err != nil {
		return err
	}
	g.links = slices.DeleteFunc(g.links, func(l linkGoal) bool {
		_, exists := live.Link(l.name)
		return !exists && l.up != nil && !*l.up // it is wanted down, and is as down as can be
	})
	steps, err := planConfig(g, live)
	if err != nil {
		return err
	}
	return b.execute(ctx, steps)
}
