package rollout

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
)

func snapshot(t *testing.T, level string) applied.Snapshot {
	t.Helper()
	s, err := applied.NewSnapshot(&operatorv1.NetworkSpec{LogLevel: "Normal", ServiceNetwork: []string{level}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func images(tag string) map[string]string { return map[string]string{"AGENT_IMAGE": "agent:" + tag} }

func TestUpgradesAndChangesOfTheConfigurationExcludeEachOther(t *testing.T) {
	a, b, c := snapshot(t, "a"), snapshot(t, "b"), snapshot(t, "c")
	done := applied.Record{State: applied.StateApplied, Applied: a, Number: 3, OperatorVersion: "v1", Images: images("v1")}
	under := func(kind applied.Kind, s applied.Snapshot, version string) applied.Record {
		return applied.Record{State: applied.StateApplied, Applied: s, Number: 4, OperatorVersion: version, Images: images(version), Kind: kind, Settling: true}
	}
	for _, tc := range []struct {
		why     string
		record  applied.Record
		wanted  applied.Snapshot
		version string
		stalled string
		want    string
	}{
		{"a fresh cluster", applied.Record{}, a, "v1", "", ""},
		{"nothing new", done, a, "v1", "", ""},
		{"a change", done, b, "v1", "", ""},
		{"an upgrade", done, a, "v2", "", ""},
		{"both at once: the upgrade first", done, b, "v2", "", "config waits"},
		{"a change during an upgrade", under(applied.KindUpgrade, a, "v2"), b, "v2", "", "config waits"},
		{"an upgrade during a change", under(applied.KindConfig, b, "v1"), b, "v2", "", "version waits"},
		{"an upgrade during the install", under(applied.KindInstall, a, "v1"), a, "v2", "", "version waits"},
		{"another change during a change", under(applied.KindConfig, b, "v1"), c, "v1", "", ""},
		{"the next version during an upgrade", under(applied.KindUpgrade, a, "v2"), a, "v3", "", ""},
		{"a change may resolve a stalled upgrade", under(applied.KindUpgrade, a, "v2"), b, "v2", "agent is stalled", ""},
		{"an upgrade may resolve a stalled change", under(applied.KindConfig, b, "v1"), b, "v2", "agent is stalled", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			turn := Next(State{Record: tc.record, Wanted: tc.wanted, Version: tc.version, Images: images(tc.version), Stalled: tc.stalled})
			got := ""
			switch {
			case turn.HoldConfig:
				got = "config waits"
			case turn.HoldVersion:
				got = "version waits"
			case turn.Back != nil:
				got = "back"
			}
			if got != tc.want || (got == "") != (turn.Message == "") {
				t.Errorf("%q: %s", got, turn.Message)
			}
		})
	}
}

func TestUpgradeWaitsForTheEndOfAMigration(t *testing.T) {
	a := snapshot(t, "a")
	done := applied.Record{State: applied.StateApplied, Applied: a, Number: 3, OperatorVersion: "v1", Images: images("v1"), Kind: applied.KindUpgrade}
	for version, held := range map[string]bool{"v1": false, "v2": true, "v0": true} {
		turn := Next(State{Record: done, Wanted: a, Version: version, Images: images(version), Migrating: true})
		if turn.HoldVersion != held || held && turn.Reason != ReasonUpgradeWaits || turn.HoldConfig {
			t.Errorf("version %s: %+v", version, turn)
		}
	}
}

func TestStalledRolloutIsRolledBackOnce(t *testing.T) {
	a, b := snapshot(t, "a"), snapshot(t, "b")
	history := applied.History{
		{Number: 3, Hash: a.Hash(), Spec: json.RawMessage(a.String()), OperatorVersion: "v1", Outcome: applied.OutcomeHealthy, Images: images("v1")},
		{Number: 4, Hash: b.Hash(), Spec: json.RawMessage(b.String()), OperatorVersion: "v1", Outcome: applied.OutcomeApplied},
	}
	bad := applied.Record{State: applied.StateApplied, Applied: b, Number: 4, OperatorVersion: "v1", Kind: applied.KindConfig, Settling: true}
	s := State{Record: bad, History: history, Wanted: b, Version: "v1", Stalled: "agent crashes", AutoRollback: true}

	turn := Next(s)
	if turn.Back == nil || turn.Back.Number != 3 || !strings.Contains(turn.Message, "agent crashes") {
		t.Fatalf("%+v", turn)
	}
	for why, change := range map[string]func(*State){
		"automatic rollback is off": func(s *State) { s.AutoRollback = false },
		"it is not stalled":         func(s *State) { s.Stalled = "" },
		"there is no healthy one":   func(s *State) { s.History = history[1:] },
		"it was healthy before":     func(s *State) { s.Record.Settling = false },
		"it is a rollback itself":   func(s *State) { s.Record.Kind = applied.KindRollback },
		"objects are not all sent":  func(s *State) { s.Record.State, s.Record.Intent = applied.StateApplying, b },
	} {
		other := s
		change(&other)
		if got := Next(other); got.Back != nil {
			t.Errorf("%s: %s", why, got.Message)
		}
	}

	back := bad.Begin(applied.Start{Intent: a, Number: 5, OperatorVersion: "v1", Back: true, Rejected: applied.Rejected{Hash: b.Hash(), Why: turn.Message}})
	held := Next(State{Record: back, History: history, Wanted: b, Version: "v1"})
	if !held.HoldConfig || held.Reason != ReasonRolledBack {
		t.Errorf("the bad specification is tried again: %+v", held)
	}
	if fixed := Next(State{Record: back, History: history, Wanted: snapshot(t, "c"), Version: "v1"}); fixed.HoldConfig {
		t.Errorf("another specification is held back: %+v", fixed)
	}
}

func TestFailedVersionIsHeldBackForAnySpecification(t *testing.T) {
	a := snapshot(t, "a")
	r := applied.Record{State: applied.StateApplied, Applied: a, Number: 5, OperatorVersion: "v1", Images: images("v1"), Kind: applied.KindRollback,
		Rejected: applied.Rejected{Operands: applied.Operands("v2", images("v2")), Why: "v2 is stalled"}}
	for version, want := range map[string]bool{"v2": true, "v3": false} {
		got := Next(State{Record: r, Wanted: snapshot(t, "b"), Version: version, Images: images(version)})
		if got.HoldVersion != want {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

func TestLastHealthyRevisionIsKept(t *testing.T) {
	h := applied.History{}.Append(applied.Revision{Number: 1, Spec: []byte("{}"), Outcome: applied.OutcomeHealthy})
	for n := 2; n < 12; n++ {
		h = h.Append(applied.Revision{Number: n, Spec: []byte("{}"), Outcome: applied.OutcomeAbandoned})
	}
	var numbers []int
	for _, r := range h {
		numbers = append(numbers, r.Number)
	}
	if d := cmp.Diff([]int{1, 8, 9, 10, 11}, numbers); d != "" {
		t.Error(d)
	}
}
