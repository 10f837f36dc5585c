package hostapply_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/automatic"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/hostapplytest"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// document gives eth0 an address and a gateway.
func document(ip string) string {
	return `interfaces:
- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: ` + ip + `, prefix-length: 24}]}}
routes:
  config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0}]
`
}

const gatewayText = "gateway 192.0.2.1 on eth0"

// bench is an engine on a host in memory, whose time passes only when the engine waits.
type bench struct {
	*hostapplytest.Host
	engine hostapply.Engine
	files  fstest.MapFS
	now    time.Time
	name   func(waited time.Duration) string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &bench{
		Host: &hostapplytest.Host{Silent: map[string]bool{}}, files: fstest.MapFS{}, now: start,
		name: func(time.Duration) string { return "master-0" },
	}
	b.State = livestate.State{Links: []livestate.Link{{
		Name: "eth0", Kind: "ethernet", MAC: "52:54:00:00:00:01", Up: true, MTU: 1500,
		Addresses: []livestate.Address{{Prefix: netip.MustParsePrefix("192.0.2.9/24")}},
	}}}
	b.Boots = b.State
	limits := hostapply.DefaultLimits()
	limits.Poll = time.Second
	b.engine = hostapply.Engine{
		Backend: b.Host, Prober: b.Host, Documents: b.files,
		Resolve: func(name string, data []byte, live livestate.State) (*nmstate.Document, error) {
			doc, problems := nmstate.Parse(name, data)
			if err := problems.Err(); err != nil {
				return nil, err
			}
			return livestate.Concrete(doc, live)
		},
		Dir: filepath.Join(dir, "state"), Report: filepath.Join(dir, "report.json"), Applied: filepath.Join(dir, "applied"), Boot: "boot-1",
		Hostname: func() (string, error) { return b.name(b.now.Sub(start)), nil }, Limits: limits,
		Now:  func() time.Time { return b.now },
		Wait: func(_ context.Context, d time.Duration) error { b.now = b.now.Add(d); return nil },
		Log:  slog.New(slog.DiscardHandler),
	}
	return b
}

func (b *bench) give(name, content string) { b.files[name] = &fstest.MapFile{Data: []byte(content)} }

// run does a pass, and checks its result and the address that eth0 has after it.
func (b *bench) run(t *testing.T, result hostapply.Result, address string) (hostapply.Report, error) {
	t.Helper()
	report, err := b.engine.Run(t.Context())
	if report.Result != result {
		t.Fatalf("the result is %q, want %q: %v", report.Result, result, err)
	}
	if (err == nil) != (result == hostapply.Applied || result == hostapply.Unchanged || result == hostapply.Nothing) {
		t.Errorf("the result is %q, and the error %v", result, err)
	}
	link, _ := b.State.Link("eth0")
	if got := link.Addresses[0].Prefix.Addr().String(); got != address {
		t.Errorf("eth0 has %s, want %s", got, address)
	}
	return report, err
}

func (b *bench) exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestSameContentIsAppliedOnceAndAgainWhenItIsNotLive(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.run(t, hostapply.Applied, "192.0.2.10")
	b.Calls = nil
	b.run(t, hostapply.Unchanged, "192.0.2.10")
	if len(b.Calls) > 0 {
		t.Errorf("an unchanged host gets %v", b.Calls)
	}
	b.State.Links[0].Addresses[0].Prefix = netip.MustParsePrefix("192.0.2.77/24")
	b.run(t, hostapply.Applied, "192.0.2.10")
	b.give("master-0.yml", document("192.0.2.11"))
	b.run(t, hostapply.Applied, "192.0.2.11")
	if marker, err := os.ReadFile(b.engine.Applied); err != nil || string(marker) != document("192.0.2.11") {
		t.Errorf("the marker is %q, %v", marker, err)
	}
}

func TestFailureAtAnyCallLeavesTheOldNetworkAndNoMarker(t *testing.T) {
	for _, call := range []string{"snapshot", "apply", "commit"} {
		b := newBench(t)
		b.give("master-0.yml", document("192.0.2.10"))
		b.Fail = func(c string) error {
			if c == call {
				return errors.New("no")
			}
			return nil
		}
		want := hostapply.RolledBack
		if call == "snapshot" {
			want = hostapply.Refused
		}
		b.run(t, want, "192.0.2.9")
		if b.exists(b.engine.Applied) || b.exists(filepath.Join(b.engine.Dir, "journal.json")) {
			t.Errorf("%s: there is a marker or an open journal", call)
		}
	}
}

func TestGatewayThatDoesNotAnswerUndoesTheChange(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.Silent[gatewayText] = true
	if _, err := b.run(t, hostapply.RolledBack, "192.0.2.9"); !strings.Contains(err.Error(), gatewayText) {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyWhatAnsweredBeforeMustAnswerAfter(t *testing.T) {
	b := newBench(t)
	api := hostapply.Target{Kind: hostapply.TCP, Address: "192.0.2.2:6443"}
	b.engine.Targets = []hostapply.Target{api}
	b.give("master-0.yml", document("192.0.2.10"))
	b.Silent[api.String()] = true // the first control plane node boots before its API server
	b.run(t, hostapply.Applied, "192.0.2.10")

	delete(b.Silent, api.String())
	b.give("master-0.yml", document("192.0.2.11"))
	b.Fail = func(call string) error {
		if call == "apply" {
			b.Silent[api.String()] = true
		}
		if call == "restore" {
			delete(b.Silent, api.String())
		}
		return nil
	}
	b.run(t, hostapply.RolledBack, "192.0.2.10")
}

func TestHostNameThatComesLateIsWaitedForAndOneThatNeverComesIsNot(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		after     time.Duration
		own       bool
		address   string
		waited    time.Duration
	}{
		{name: "late", why: "DHCP gives the name after two minutes", after: 2 * time.Minute, own: true, address: "192.0.2.10", waited: 2 * time.Minute},
		{name: "never", why: "the wait is bounded, and then the host has what all have", after: time.Hour, own: true, address: "192.0.2.20", waited: 5 * time.Minute},
		{name: "needless", why: "without a file for a single host no name can matter", after: time.Hour, address: "192.0.2.20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			begin := b.now
			b.name = func(waited time.Duration) string {
				if waited < tt.after {
					return "localhost.localdomain"
				}
				return "master-0.example.com"
			}
			b.give("cluster.yml", document("192.0.2.20"))
			if tt.own {
				b.give("master-0.yml", document("192.0.2.10"))
			}
			b.run(t, hostapply.Applied, tt.address)
			if waited := b.now.Sub(begin); waited != tt.waited {
				t.Errorf("it waited %s, want %s: %s", waited, tt.waited, tt.why)
			}
		})
	}
}

func TestEmptyDocumentIsRefusedAndNotPassedOver(t *testing.T) {
	b := newBench(t)
	b.give("cluster.yml", document("192.0.2.20"))
	b.give("master-0.yml", "")
	b.run(t, hostapply.Refused, "192.0.2.9")
}

func TestHostWithoutADocument(t *testing.T) {
	b := newBench(t)
	b.run(t, hostapply.Nothing, "192.0.2.9")
	begin := b.now
	b.engine.Automatic = func(livestate.State) (*nmstate.Document, error) {
		if b.now.Sub(begin) < 30*time.Second {
			return nil, automatic.ErrNoUplink // the lease is not there yet
		}
		doc, problems := nmstate.Parse("", []byte(document("192.0.2.30")))
		return doc, problems.Err()
	}
	b.run(t, hostapply.Applied, "192.0.2.30")
	b.run(t, hostapply.Unchanged, "192.0.2.30")
	b.engine.Boot = "boot-2"
	b.run(t, hostapply.Applied, "192.0.2.30") // it is recreated at each boot
	if b.exists(b.engine.Applied) {
		t.Error("an automatic configuration writes a marker")
	}
}

// die makes the engine panic at the call of a backend, as a process that is killed there.
func (b *bench) die(t *testing.T, at string) {
	t.Helper()
	b.Fail = func(call string) error {
		if call == at {
			panic("killed")
		}
		return nil
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = b.engine.Run(t.Context())
		t.Fatalf("the pass did not come to %s", at)
	}()
	b.Fail = nil
}

func TestDeathBeforeTheCommitIsUndoneAndAfterItCarriedThrough(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.die(t, "apply")
	delete(b.files, "master-0.yml")
	b.run(t, hostapply.Nothing, "192.0.2.9")

	b.give("master-0.yml", document("192.0.2.10"))
	b.die(t, "commit")
	delete(b.files, "master-0.yml")
	b.run(t, hostapply.Nothing, "192.0.2.10")
	if !b.exists(b.engine.Applied) {
		t.Error("no marker of what was verified and committed")
	}
}

func TestPowerCutInTheCommitIsRepairedWithTheFirstWayBack(t *testing.T) {
	for _, works := range []bool{true, false} {
		b := newBench(t)
		b.give("master-0.yml", document("192.0.2.10"))
		b.die(t, "commit")
		b.Boots = livestate.State{Links: []livestate.Link{{Name: "eth0", Kind: "ethernet", MTU: 1500}}} // no address at all
		b.PowerCut()
		b.Silent[gatewayText] = !works
		if works {
			b.run(t, hostapply.Unchanged, "192.0.2.10")
		} else {
			b.run(t, hostapply.RolledBack, "192.0.2.9")
		}
	}
}

func TestDocumentThatKillsTheProgramIsGivenUp(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	for range b.engine.Limits.Tries {
		b.die(t, "apply")
	}
	if _, err := b.run(t, hostapply.Refused, "192.0.2.9"); !strings.Contains(err.Error(), "died 3 times") {
		t.Errorf("the error is %v", err)
	}
	b.give("master-0.yml", document("192.0.2.11"))
	b.run(t, hostapply.Applied, "192.0.2.11")
}

func TestRestoreIsTriedUntilItWorks(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.Fail = func(call string) error {
		if call == "restore" || call == "apply" {
			return errors.New("the daemon is gone")
		}
		return nil
	}
	b.run(t, hostapply.Broken, "192.0.2.10")
	want := []string{"snapshot", "apply", "restore", "restore", "restore"}
	if diff := cmp.Diff(want, b.Calls); diff != "" {
		t.Error(diff)
	}
	b.Fail = nil
	delete(b.files, "master-0.yml")
	b.run(t, hostapply.Nothing, "192.0.2.9")
}

func TestRecoverEndsAChangeAndBeginsNone(t *testing.T) {
	b := newBench(t)
	b.give("master-0.yml", document("192.0.2.10"))
	b.die(t, "apply")
	for range 2 {
		if err := b.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if link, _ := b.State.Link("eth0"); link.Addresses[0].Prefix.Addr().String() != "192.0.2.9" {
		t.Errorf("eth0 has %v", link.Addresses)
	}
}

func TestReportSaysWhatHappenedEvenWhenNothingIsReadable(t *testing.T) {
	b := newBench(t)
	b.engine.Documents = brokenFS{}
	if _, err := b.engine.Run(t.Context()); err == nil {
		t.Error("an unreadable directory is no error")
	}
	data, err := os.ReadFile(b.engine.Report)
	if err != nil || !strings.Contains(string(data), "refused") || !strings.Contains(string(data), "input/output") {
		t.Errorf("the report is %s, %v", data, err)
	}
}

type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, errors.New("input/output error") }
