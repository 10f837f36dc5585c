package ovsbridge

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// server starts a real ovsdb-server, and, in place of ovs-vswitchd, something that says that it has done everything.
func server(t *testing.T) Database {
	t.Helper()
	dir := t.TempDir()
	file, d := filepath.Join(dir, "conf.db"), Database{Socket: filepath.Join(dir, "db.sock")}
	if out, err := exec.Command("ovsdb-tool", "create", file, "/usr/share/openvswitch/vswitch.ovsschema").CombinedOutput(); err != nil {
		t.Fatalf("make a database (needs the package openvswitch-switch): %v: %s", err, out)
	}
	cmd := exec.Command("ovsdb-server", file, "--remote=punix:"+d.Socket, "--unixctl="+filepath.Join(dir, "ctl"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually.Succeeds(t, "ovsdb-server listens", func() error {
		conn, err := net.Dial("unix", d.Socket)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	if _, err := d.Read(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("a database that no one initialized: %v", err)
	}
	follow(t, d)
	return d
}

func follow(t *testing.T, d Database) {
	t.Helper()
	c, err := ovsdb.Dial(t.Context(), d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Transact(t.Context(), database, ovsdb.Insert("Open_vSwitch", "", map[string]any{"datapath_types": "netdev"})); err != nil {
		t.Fatal(err)
	}
	_, changed, err := c.Monitor(t.Context(), database, map[string][]string{"Open_vSwitch": {"next_cfg"}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range changed {
			rows, err := c.Transact(context.Background(), database, ovsdb.Select("Open_vSwitch", []string{"next_cfg"}))
			if err != nil {
				return
			}
			if _, err := c.Transact(context.Background(), database, ovsdb.Update("Open_vSwitch", map[string]any{"cur_cfg": rows[0].Rows[0].Int("next_cfg")})); err != nil {
				return
			}
		}
	}()
}

func parse(t *testing.T, text string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return doc
}

const brEx = `
interfaces:
- name: br-ex
  type: ovs-bridge
  bridge: {port: [{name: eth0}, {name: br-ex}]}
  ovs-db: {external_ids: {bridge-uplink: eth0}}
- {name: br-ex, type: ovs-interface, mac-address: "52:54:00:00:00:01", mtu: 1400}
ovs-db: {external_ids: {system-id: abc}}
`

func ensure(t *testing.T, d Database, change Change) {
	t.Helper()
	if err := d.Ensure(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, d Database) Contents {
	t.Helper()
	c, err := d.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBridgeIsMadeAndTakenBack(t *testing.T) {
	d := server(t)
	before, doc := contents(t, d), parse(t, brEx)
	ensure(t, d, Wanted(doc))
	got := contents(t, d)
	want := []livestate.Bridge{{
		Name: "br-ex", Datapath: "netdev", ExternalIDs: map[string]string{"bridge-uplink": "eth0"}, OtherConfig: map[string]string{"hwaddr": "52:54:00:00:00:01"},
		Ports: []livestate.BridgePort{
			{Name: "br-ex", Interfaces: []livestate.BridgeInterface{{Name: "br-ex", Type: "internal", MTU: 1400}}},
			{Name: "eth0", Interfaces: []livestate.BridgeInterface{{Name: "eth0"}}},
		},
	}}
	if diff := cmp.Diff(want, got.Bridges); diff != "" {
		t.Error(diff)
	}
	if got.Switch.ExternalIDs["system-id"] != "abc" {
		t.Errorf("the switch has %v", got.Switch)
	}
	ensure(t, d, Undo(before, Affected(before.Bridges, doc), doc))
	if diff := cmp.Diff(before, contents(t, d)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

// TestABridgeWaitsForASwitchThatStarts: which datapaths a host has is known only when ovs-vswitchd has started.
func TestABridgeWaitsForASwitchThatStarts(t *testing.T) {
	d := server(t)
	setDatapaths := func(value any) {
		c, err := ovsdb.Dial(t.Context(), d.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Transact(t.Context(), database, ovsdb.Update("Open_vSwitch", map[string]any{datapathTypes: value})); err != nil {
			t.Fatal(err)
		}
	}
	setDatapaths(ovsdb.Set{})
	done := make(chan error, 1)
	go func() { done <- d.Ensure(t.Context(), Wanted(parse(t, brEx))) }()
	select {
	case err := <-done:
		t.Fatalf("a bridge was made before the datapaths were known: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	setDatapaths("netdev")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := contents(t, d).Bridges; len(got) != 1 || got[0].Datapath != "netdev" {
		t.Errorf("the bridges are %+v", got)
	}
}

func TestWhatOthersPutOnABridgeStays(t *testing.T) {
	d := server(t)
	ensure(t, d, Change{Bridges: []livestate.Bridge{{
		Name: "br-ex", ExternalIDs: map[string]string{"ovn": "1"}, OtherConfig: map[string]string{"x": "y"},
		Ports: []livestate.BridgePort{
			{Name: "patch-to-int", Interfaces: []livestate.BridgeInterface{{Name: "patch-to-int", Type: "patch", Options: map[string]string{"peer": "q"}}}},
			{Name: "eth0", Interfaces: []livestate.BridgeInterface{{Name: "eth0"}}},
			{Name: "stray", Interfaces: []livestate.BridgeInterface{{Name: "stray"}}},
		},
	}}})
	before, doc := contents(t, d), parse(t, brEx)
	ensure(t, d, Wanted(doc))
	got := contents(t, d).Bridges[0]
	var ports []string
	for _, p := range got.Ports {
		ports = append(ports, p.Name)
	}
	if diff := cmp.Diff([]string{"br-ex", "eth0", "patch-to-int"}, ports); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"ovn": "1", "bridge-uplink": "eth0"}, got.ExternalIDs); diff != "" {
		t.Error(diff)
	}
	ensure(t, d, Undo(before, Affected(before.Bridges, doc), doc))
	if diff := cmp.Diff(before, contents(t, d)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

func TestCardMovesFromOneBridgeToAnotherAndBack(t *testing.T) {
	d := server(t)
	ensure(t, d, Change{Bridges: []livestate.Bridge{{Name: "br0", Ports: []livestate.BridgePort{
		{Name: "br0", Interfaces: []livestate.BridgeInterface{{Name: "br0", Type: "internal"}}},
		{Name: "bond", BondMode: "active-backup", Interfaces: []livestate.BridgeInterface{{Name: "eth0"}, {Name: "eth1"}}},
	}}}})
	before, doc := contents(t, d), parse(t, brEx)
	affected := Affected(before.Bridges, doc)
	if diff := cmp.Diff([]string{"br-ex", "br0"}, affected); diff != "" {
		t.Error(diff)
	}
	ensure(t, d, Wanted(doc))
	if got := contents(t, d); len(got.Bridges) != 2 || len(got.Bridges[1].Ports) != 1 {
		t.Errorf("bridges are %+v", got.Bridges)
	}
	ensure(t, d, Undo(before, affected, doc))
	if diff := cmp.Diff(before, contents(t, d)); diff != "" {
		t.Errorf("not as before: %s", diff)
	}
}

func TestSecondEnsureChangesNothing(t *testing.T) {
	d := server(t)
	doc := parse(t, brEx)
	ensure(t, d, Wanted(doc))
	c, err := d.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	rows, err := read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	change := Wanted(doc)
	change.Bridges[0].Datapath = "netdev" // what Ensure has chosen
	p := planner{tables: rows, change: change}
	if ops := p.plan(); len(ops) > 0 {
		t.Errorf("operations are %v", ops)
	}
}

func TestAbsentBridgeGoes(t *testing.T) {
	d := server(t)
	ensure(t, d, Wanted(parse(t, brEx)))
	ensure(t, d, Wanted(parse(t, "interfaces: [{name: br-ex, type: ovs-bridge, state: absent}]")))
	if got := contents(t, d); len(got.Bridges) != 0 {
		t.Errorf("bridges are %+v", got.Bridges)
	}
}

func TestHostWithoutOpenVSwitch(t *testing.T) {
	if _, err := (Database{Socket: filepath.Join(t.TempDir(), "none")}).Read(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("the error is %v", err)
	}
}

func TestOVNIsToldNothingOfAnEarlierBoot(t *testing.T) {
	d := server(t)
	for _, c := range []struct {
		why          string
		before, want map[string]string
	}{
		{"no setting", map[string]string{"system-id": "abc"}, map[string]string{"system-id": "abc"}},
		{"the address is blank, as configure-ovs.sh leaves it, and the rest stays", map[string]string{"ovn-remote": "ssl:192.0.2.1:6642", "system-id": "abc"},
			map[string]string{"ovn-remote": " ", "system-id": "abc"}},
		{"a second time changes nothing", nil, map[string]string{"ovn-remote": " ", "system-id": "abc"}},
	} {
		pairs := nmstate.Pairs{}
		for key, value := range c.before {
			pairs[key] = &value
		}
		ensure(t, d, Change{Switch: nmstate.OVSDatabase{ExternalIDs: pairs}})
		if err := d.ForgetOVN(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, contents(t, d).Switch.ExternalIDs); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
	if err := (Database{Socket: filepath.Join(t.TempDir(), "none")}).ForgetOVN(t.Context()); !errors.Is(err, ErrAbsent) {
		t.Errorf("without Open vSwitch: %v", err)
	}
}
