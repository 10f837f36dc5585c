package flows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/host/flows"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/openflow"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// vswitch starts an Open vSwitch with a bridge that drops everything, in a network namespace of its own.
func vswitch(t *testing.T) (ovs.Switch, flows.Bridge) {
	t.Helper()
	dir := t.TempDir()
	s := ovs.Switch{
		RunDir: filepath.Join(dir, "run"), DataDir: filepath.Join(dir, "data"), Schema: "/usr/share/openvswitch/vswitch.ovsschema",
		Namespace: netns.New(t, "flows").Path(), Userspace: true, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Open vSwitch ends with %v", err)
		}
	})
	eventually.Holds(t, "the bridge exists", func() (string, bool) {
		client, err := ovsdb.Dial(t.Context(), s.Socket())
		if err != nil {
			return err.Error(), false
		}
		defer client.Close()
		c := ovs.Configuration{Client: client}
		if err := c.Initialize(t.Context(), ovs.Root{}); err != nil {
			return err.Error(), false
		}
		if err := c.EnsureBridge(t.Context(), ovs.Bridge{Name: "br0", Userspace: true, Secure: true}); err != nil {
			return err.Error(), false
		}
		return "", true
	})
	return s, flows.Bridge{Name: "br0", RunDir: s.RunDir}
}

// everyKind is a flow for each function that makes a condition or an action.
func everyKind(t *testing.T) openflow.Set {
	t.Helper()
	pod, block := netip.MustParsePrefix("10.128.0.5/32"), netip.MustParsePrefix("10.128.0.0/14")
	mac := []byte{0x0a, 0x58, 0x0a, 0x80, 0, 5}
	flows := []openflow.Flow{
		{Priority: 1, Match: []openflow.Match{openflow.FromLocal(), openflow.Is(openflow.IP), openflow.Source(block), openflow.Destination(pod)},
			Actions: []openflow.Action{openflow.Track{Table: 20}.Action()}},
		{Priority: 2, Match: []openflow.Match{openflow.InPort(1), openflow.Is(openflow.ARP), openflow.ARPSource(pod), openflow.ARPTarget(block), openflow.ARPSender(mac)},
			Actions: []openflow.Action{openflow.Return(), openflow.OutputLocal(), openflow.Output(7)}},
		{Priority: 3, Match: []openflow.Match{openflow.TunnelID(5), openflow.TunnelSource(netip.MustParseAddr("192.0.2.1")), openflow.Multicast()},
			Actions: []openflow.Action{openflow.SetTunnelID(9), openflow.SetTunnelDestination(netip.MustParseAddr("192.0.2.2")), openflow.Resubmit(3)}},
		{Priority: 4, Match: []openflow.Match{openflow.EthSource(mac), openflow.EthDestination(mac)},
			Actions: []openflow.Action{openflow.SetEthSource(mac), openflow.SetEthDestination(mac), openflow.Move("NXM_NX_REG0[]", "NXM_NX_TUN_ID[0..31]"), openflow.Normal()}},
		{Priority: 5, Match: []openflow.Match{openflow.Is(openflow.UDP), openflow.LaterFragments()}, Actions: []openflow.Action{openflow.OutputRegister(2)}},
		{Priority: 6, Match: []openflow.Match{openflow.Is(openflow.TCP), openflow.ConnectionState("+trk+est-rpl"), openflow.ConnectionMark(1, 0xff)},
			Actions: []openflow.Action{openflow.Track{Commit: true, Mark: 1, Zone: 3, Table: 31}.Action()}},
		{Priority: 10, Match: []openflow.Match{openflow.Is(openflow.IP), openflow.ConnectionState("-trk")}, Actions: []openflow.Action{openflow.TrackAgain()}},
		{Priority: 11, Match: []openflow.Match{openflow.Is(openflow.IP)}, Actions: []openflow.Action{openflow.Track{Commit: true, Force: true, Table: 31}.Action()}},
		{Table: 253, Actions: []openflow.Action{openflow.Annotate([]byte{1, 2, 3, 4, 5, 6})}},
		{Table: 80, Priority: 7, Match: []openflow.Match{openflow.Is(openflow.IP), openflow.ConjunctionID(4)}, Actions: []openflow.Action{openflow.OutputRegister(2)}, Note: "policy"},
		{Table: 80, Priority: 7, Match: []openflow.Match{openflow.Is(openflow.IP), openflow.Source(pod)}, Actions: []openflow.Action{openflow.Conjunction(4, 1, 2)}},
		{Table: 20, Priority: 8, Match: []openflow.Match{openflow.Is(openflow.IPv6), openflow.Destination(netip.MustParsePrefix("fd01::/64"))},
			Actions: []openflow.Action{openflow.SetRegister(0, 5), openflow.Goto(27)}},
		{Table: 20, Priority: 9, Match: []openflow.Match{openflow.Is(openflow.TCPv6), openflow.Register(0, 1, 0xf)}},
	}
	for _, p := range []openflow.Protocol{openflow.TCP, openflow.UDP, openflow.SCTP, openflow.TCPv6, openflow.UDPv6, openflow.SCTPv6} {
		for _, m := range openflow.Ports(6000, 6100) {
			flows = append(flows, openflow.Flow{Table: 81, Priority: 1, Match: []openflow.Match{openflow.Is(p), openflow.DestinationPort(m)}},
				openflow.Flow{Table: 82, Priority: 1, Match: []openflow.Match{openflow.Is(p), openflow.SourcePort(m)}})
		}
	}
	for _, p := range []openflow.Protocol{openflow.ICMP, openflow.ICMPv6} {
		flows = append(flows, openflow.Flow{Table: 81, Match: []openflow.Match{openflow.Is(p)}})
	}
	s, err := openflow.NewSet(flows...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBridgeHasTheSet: Open vSwitch takes every kind of flow that this package writes, and reads it as the same.
func TestBridgeHasTheSet(t *testing.T) {
	_, bridge := vswitch(t)
	want := everyKind(t)
	missing, err := bridge.Differences(t.Context(), want)
	if err != nil || len(missing) != want.Len() {
		t.Fatalf("of an empty bridge %d flows differ, want %d: %v", len(missing), want.Len(), err)
	}
	for range 2 {
		if err := bridge.Replace(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if lines, err := bridge.Differences(t.Context(), want); err != nil || len(lines) > 0 {
			t.Fatalf("differences: %s, %v", strings.Join(lines, "\n"), err)
		}
	}
	// What Open vSwitch refuses changes nothing.
	refused, err := openflow.NewSet(openflow.Flow{Match: []openflow.Match{openflow.ConnectionState("+trk")}, Actions: []openflow.Action{"nonsense"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := bridge.Replace(t.Context(), refused); err == nil || !strings.Contains(err.Error(), "replace-flows of bridge br0: ") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("a flow that Open vSwitch refuses: %v", err)
	}
	if lines, err := bridge.Differences(t.Context(), want); err != nil || len(lines) > 0 {
		t.Errorf("differences after a refused set: %s, %v", strings.Join(lines, "\n"), err)
	}
}

// TestBridgeIsChanged: the difference between two sets turns the flows of one into those of the other, in both directions.
func TestBridgeIsChanged(t *testing.T) {
	_, bridge := vswitch(t)
	ip := []openflow.Match{openflow.Is(openflow.IP)}
	first := must(t, openflow.Flow{Priority: 9, Note: "only the first"}, openflow.Flow{Priority: 8, Match: ip, Actions: []openflow.Action{openflow.Output(1)}, Note: "other actions"},
		openflow.Flow{Table: 3, Note: "another note"}, openflow.Flow{Table: 4, Match: ip})
	second := must(t, openflow.Flow{Priority: 8, Match: ip, Actions: []openflow.Action{openflow.Output(2)}, Note: "other actions"},
		openflow.Flow{Table: 3, Note: "the note"}, openflow.Flow{Table: 4, Match: ip}, openflow.Flow{Table: 5, Match: ip, Note: "only the second"})
	if err := bridge.Replace(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	sets := []openflow.Set{first, second, everyKind(t), openflow.Verbatim(second.String()), first, first}
	for i, to := range sets[1:] {
		if err := bridge.Change(t.Context(), sets[i], to); err != nil {
			t.Fatal(err)
		}
		if lines, err := bridge.Differences(t.Context(), to); err != nil || len(lines) > 0 {
			t.Errorf("after change %d: %s, %v", i, strings.Join(lines, "\n"), err)
		}
	}
	if err := bridge.Change(t.Context(), first, must(t, openflow.Flow{Table: 3, Note: "the note"}, openflow.Flow{Table: 5, Actions: []openflow.Action{"group:9"}})); err == nil {
		t.Error("a group that does not exist is no error")
	}
	if lines, err := bridge.Differences(t.Context(), first); err != nil || len(lines) > 0 {
		t.Errorf("after a refused change: %s, %v", strings.Join(lines, "\n"), err)
	}
}

// TestRefusedFlowsAreThoseOfAnOwner: of the flows that Open vSwitch refuses, the error names the owner, so that the others can be applied without.
func TestRefusedFlowsAreThoseOfAnOwner(t *testing.T) {
	_, bridge := vswitch(t)
	ip := []openflow.Match{openflow.Is(openflow.IP)}
	large := make([]openflow.Action, 5000)
	for i := range large {
		large[i] = openflow.Conjunction(uint32(i+1), 1, 2)
	}
	rest := openflow.Flow{Priority: 9, Note: "the rest"}
	for _, row := range []struct {
		why  string
		flow openflow.Flow
		want string
	}{
		{"too large for a message", openflow.Flow{Table: 80, Match: ip, Actions: large, Note: "n", Owner: "namespace shop"}, "namespace shop"},
		{"an action that does not exist", openflow.Flow{Match: ip, Actions: []openflow.Action{"nonsense"}, Note: "n", Owner: "namespace shop"}, "namespace shop"},
		{"a meter that does not exist", openflow.Flow{Table: 20, Match: ip, Actions: []openflow.Action{openflow.Meter(9), openflow.Output(1)}, Note: "n", Owner: "pod shop/web"}, "pod shop/web"},
		{"a group that does not exist", openflow.Flow{Match: ip, Actions: []openflow.Action{"group:9"}, Note: "n", Owner: "namespace shop"}, "namespace shop"},
		{"of no owner, too large", openflow.Flow{Match: ip, Actions: large, Note: "n"}, ""},
		{"of no owner, refused by the switch", openflow.Flow{Match: ip, Actions: []openflow.Action{"group:9"}, Note: "n"}, ""},
	} {
		err := bridge.Replace(t.Context(), must(t, rest, row.flow))
		if err == nil {
			t.Fatalf("%s: Open vSwitch takes the flow", row.why)
		}
		var refused *flows.RefusedError
		if got := errors.As(err, &refused); got != (row.want != "") || got && refused.Owner != row.want {
			t.Errorf("%s: %v", row.why, err)
		}
		// With meters, comments precede the flows.
		rated := must(t, rest, row.flow).WithRates(openflow.Rate{ID: 1, Kilobits: 1000, Burst: 1000}, openflow.Rate{ID: 2, Kilobits: 1000, Burst: 1000})
		if err := bridge.Replace(t.Context(), rated); errors.As(err, &refused) != (row.want != "") {
			t.Errorf("%s: with meters: %v", row.why, err)
		}
	}
	if err := bridge.Replace(t.Context(), must(t, rest)); err != nil {
		t.Errorf("the others: %v", err)
	}
}

// TestRefusedMeterIsThatOfAnOwner: a meter that Open vSwitch does not add is that of the flows that use it.
func TestRefusedMeterIsThatOfAnOwner(t *testing.T) {
	_, bridge := vswitch(t)
	var mu sync.Mutex
	owners := map[string]bool{}
	k := flows.Keeper{Bridge: bridge, Applied: func(_ openflow.Set, err error) {
		mu.Lock()
		defer mu.Unlock()
		var refused *flows.RefusedError
		if errors.As(err, &refused) {
			owners[refused.Owner] = true
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	const tooHigh = 0xffff0001 // numbers from here are reserved
	f := openflow.Flow{Match: []openflow.Match{openflow.Is(openflow.IP)}, Actions: []openflow.Action{openflow.Meter(tooHigh), openflow.Output(1)}, Note: "n", Owner: "pod shop/web"}
	k.Set(must(t, f).WithRates(openflow.Rate{ID: tooHigh, Kilobits: 1000, Burst: 250}))
	eventually.Holds(t, "the owner is named", func() (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprint(owners), owners["pod shop/web"]
	})
}

// TestKeeper: a bridge has the set that was given last, also after its flows were edited and after ovs-vswitchd was killed.
func TestKeeper(t *testing.T) {
	vsw, bridge := vswitch(t)
	var applied, failed, restored atomic.Int32
	k := flows.Keeper{Bridge: bridge, Resync: time.Second, MatchFragments: true, Restored: func() { restored.Add(1) }, Applied: func(_ openflow.Set, err error) {
		if err != nil {
			failed.Add(1)
		} else {
			applied.Add(1)
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	holds := func(want openflow.Set) {
		t.Helper()
		eventually.Holds(t, "the bridge has the set", func() (string, bool) {
			lines, err := bridge.Differences(t.Context(), want)
			return fmt.Sprintf("%v %v", lines, err), err == nil && len(lines) == 0
		})
	}
	first, second := everyKind(t), must(t, openflow.Flow{Priority: 9, Note: "closed"})
	within := func(applied <-chan struct{}) {
		t.Helper()
		select {
		case <-applied:
		case <-time.After(time.Minute):
			t.Fatal("a set is not applied within a minute")
		}
	}
	former := k.Set(second)
	within(k.Set(first))
	within(former) // a later set has replaced it
	if lines, err := bridge.Differences(t.Context(), first); err != nil || len(lines) > 0 {
		t.Errorf("the set is reported as applied, and the bridge differs: %v %v", lines, err)
	}
	if out := netns.Run(t, "ovs-ofctl", "get-frags", "unix:"+filepath.Join(vsw.RunDir, "br0.mgmt")); !strings.Contains(out, "nx-match") {
		t.Errorf("fragments: %s", out)
	}
	within(k.Set(first))
	k.Set(second)
	holds(second)
	if err := bridge.Replace(t.Context(), first); err != nil { // a third party
		t.Fatal(err)
	}
	holds(second)
	eventually.Holds(t, "it is a repair", func() (string, bool) { return fmt.Sprint(restored.Load()), restored.Load() == 1 })
	before := pid(t, vsw)
	netns.Run(t, "kill", "-9", before)
	eventually.Holds(t, "another ovs-vswitchd runs", func() (string, bool) {
		now := pid(t, vsw)
		return now, now != "" && now != before
	})
	holds(second)
	if n := restored.Load(); n != 1 {
		t.Errorf("the restart of ovs-vswitchd is a repair: %d", n)
	}
	if applied.Load() < 4 {
		t.Errorf("the set was applied %d times (and not %d times)", applied.Load(), failed.Load())
	}
}

// TestChangesDoNotDelayRepairs: what a third party changes is restored while sets change all the time.
func TestChangesDoNotDelayRepairs(t *testing.T) {
	_, bridge := vswitch(t)
	k := flows.Keeper{Bridge: bridge, Resync: time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	kept := openflow.Flow{Table: 7, Match: []openflow.Match{openflow.Is(openflow.IP)}, Note: "in all sets"}
	<-k.Set(must(t, kept))
	netns.Run(t, "ovs-ofctl", "-O", "OpenFlow15", "del-flows", "unix:"+filepath.Join(bridge.RunDir, "br0.mgmt"), "table=7")
	i := uint32(0)
	eventually.Holds(t, "the flow is restored", func() (string, bool) {
		i++
		<-k.Set(must(t, kept, openflow.Flow{Table: 8, Actions: []openflow.Action{openflow.Output(1 + i%2)}}))
		out := netns.Run(t, "ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "unix:"+filepath.Join(bridge.RunDir, "br0.mgmt"), "table=7")
		return out, strings.Contains(out, "table=7")
	})
}

// TestTraceNamesTheFlow: the reason for which a packet is dropped is the note of the flow that drops it.
func TestTraceNamesTheFlow(t *testing.T) {
	vsw, bridge := vswitch(t)
	web := []openflow.Match{openflow.Is(openflow.TCP), openflow.DestinationPort(openflow.PortMask{Port: 80, Mask: 0xffff})}
	s := must(t,
		openflow.Flow{Actions: []openflow.Action{openflow.Goto(80)}},
		openflow.Flow{Table: 80, Priority: 100, Match: web, Actions: []openflow.Action{openflow.OutputLocal()}, Note: "NetworkPolicy shop/web"},
		openflow.Flow{Table: 80, Note: "isolated by NetworkPolicy shop/deny"},
	)
	if err := bridge.Replace(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		packet, reason string
		dropped        bool
	}{
		{"in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=80", "NetworkPolicy shop/web", false},
		{"in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_dst=81", "isolated by NetworkPolicy shop/deny", true},
	} {
		got, err := bridge.Trace(t.Context(), vsw.Control(), tt.packet, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{tt.reason, tt.dropped, 2}, []any{got.Reason(), got.Dropped(), len(got.Steps)}); diff != "" {
			t.Errorf("%s: %s\n%s", tt.packet, diff, got.Text)
		}
	}
	if _, err := bridge.Trace(t.Context(), vsw.Control(), "no packet", s); err == nil {
		t.Error("what is no packet was traced")
	}
}

func must(t *testing.T, flows ...openflow.Flow) openflow.Set {
	t.Helper()
	s, err := openflow.NewSet(flows...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pid is that of ovs-vswitchd; empty if it does not run.
func pid(t *testing.T, s ovs.Switch) string {
	t.Helper()
	out, _ := exec.Command("pgrep", "-f", "ovs-vswitchd unix:"+s.Socket()).Output()
	return strings.TrimSpace(string(out))
}
