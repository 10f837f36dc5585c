package applied

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123, time.UTC)

func snapshot(t testing.TB, cidr string) Snapshot {
	t.Helper()
	s, err := NewSnapshot(&operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: cidr, HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// through writes a record as the caller does, and reads it back.
func through(t *testing.T, r Record) Record {
	t.Helper()
	back, err := Decode(r.Encode())
	if err != nil {
		t.Fatalf("decode %v: %v", r.Encode(), err)
	}
	if d := cmp.Diff(r.Encode(), back.Encode()); d != "" {
		t.Fatalf("a record changed on its way through the cluster: %s", d)
	}
	return back
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func baseline(r Record) string {
	if spec := r.Baseline(); spec != nil {
		return spec.ClusterNetwork[0].CIDR
	}
	return ""
}

func TestRolloutStateTransitions(t *testing.T) {
	const a, b = "10.0.0.0/16", "10.0.0.0/15"
	r := Record{}.Begin(Start{Intent: snapshot(t, a), Number: 1, OperatorVersion: "v1"})
	r = through(t, r)
	if r.State != StateIntent || baseline(r) != "" {
		t.Errorf("after Begin: state %s, baseline %q; nothing has been sent, so nothing is in use", r.State, baseline(r))
	}
	r = through(t, must[Record](t)(r.MarkApplying()))
	if r.State != StateApplying || baseline(r) != a {
		t.Errorf("after MarkApplying: state %s, baseline %q; what is half installed may not change", r.State, baseline(r))
	}
	r, rev, err := r.MarkApplied(noon)
	if err != nil {
		t.Fatal(err)
	}
	r = through(t, r)
	if r.State != StateApplied || baseline(r) != a || !r.Intent.IsZero() {
		t.Errorf("after MarkApplied: %+v", r)
	}
	want := Revision{Number: 1, Hash: snapshot(t, a).Hash(), Spec: []byte(snapshot(t, a).String()), OperatorVersion: "v1", Time: noon.Truncate(time.Second), Outcome: OutcomeApplied, Kind: KindInstall}
	if d := cmp.Diff(want, rev); d != "" {
		t.Error(d)
	}
	next := through(t, r.Begin(Start{Intent: snapshot(t, b), Number: 2, OperatorVersion: "v1"}))
	if next.State != StateIntent || baseline(next) != a {
		t.Errorf("a second rollout: state %s, baseline %q; the first stays in effect until objects are sent", next.State, baseline(next))
	}
}

func TestBeginWithoutChangesIsANoOp(t *testing.T) {
	a := snapshot(t, "10.0.0.0/16")
	started := Record{}.Begin(Start{Intent: a, Number: 1, OperatorVersion: "v1"})
	applying := must[Record](t)(started.MarkApplying())
	done, _, err := applying.MarkApplied(noon)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]Record{"begun": started, "applying": applying, "applied": done} {
		if d := cmp.Diff(r.Encode(), r.Begin(Start{Intent: a, Number: 9, OperatorVersion: "v1"}).Encode()); d != "" {
			t.Errorf("%s: the same again changes the record: %s", name, d)
		}
		if r.Begin(Start{Intent: a, Number: 9, OperatorVersion: "v2"}).Number != 9 {
			t.Errorf("%s: a new version of the operator is a new revision", name)
		}
		if got := r.Begin(Start{Intent: a, Number: 9, OperatorVersion: "v1", Forced: true}); !got.Forced || got.Number != 9 {
			t.Errorf("%s: a forced change is a new revision, even if nothing differs", name)
		}
	}
}

func TestReplacingAHalfAppliedRolloutStaysApplying(t *testing.T) {
	a, b, c := snapshot(t, "10.0.0.0/16"), snapshot(t, "10.0.0.0/15"), snapshot(t, "10.0.0.0/14")
	r := Record{State: StateApplying, Applied: a, Intent: b, Number: 2}
	if rev := r.Revision(OutcomeAbandoned, noon); rev.Number != 2 || rev.Hash != b.Hash() || rev.Outcome != OutcomeAbandoned {
		t.Errorf("the abandoned revision is %+v", rev)
	}
	r = r.Begin(Start{Intent: c, Number: 3})
	if r.State != StateApplying || baseline(r) != "10.0.0.0/14" || !r.Applied.Equal(a) {
		t.Errorf("state %s, baseline %q: objects of the second exist, so what replaces it must be checked against it", r.State, baseline(r))
	}
}

func TestForcedSurvivesACrash(t *testing.T) {
	r := through(t, Record{}.Begin(Start{Intent: snapshot(t, "10.0.0.0/16"), Number: 4, Forced: true}))
	r = through(t, must[Record](t)(r.MarkApplying()))
	if _, rev, _ := r.MarkApplied(noon); !rev.Forced {
		t.Error("the history does not record that the change was forced")
	}
}

func TestInvalidTransitionsAreErrors(t *testing.T) {
	if _, err := (Record{State: StateApplied}).MarkApplying(); !errors.Is(err, ErrState) {
		t.Errorf("MarkApplying of what is applied: %v", err)
	}
	if _, _, err := (Record{State: StateIntent}).MarkApplied(noon); !errors.Is(err, ErrState) {
		t.Errorf("MarkApplied before MarkApplying: %v", err)
	}
}

func TestDecide(t *testing.T) {
	a := snapshot(t, "10.0.0.0/16").String()
	for _, tc := range []struct {
		why   string
		found Found
		want  Decision
	}{
		{"nothing was ever there", Found{InventoryEmpty: true}, Fresh},
		{"record and inventory were lost, and the history was not", Found{InventoryEmpty: true, History: History{{Number: 1, Spec: []byte(a), Outcome: OutcomeHealthy}}}, Recovered},
		{"... of which nothing was ever applied", Found{InventoryEmpty: true, History: History{{Number: 1, Spec: []byte(a), Outcome: OutcomeAbandoned}}}, Forced},
		{"... of which nothing can be read", Found{InventoryEmpty: true, History: History{{Number: 1, Spec: []byte("["), Outcome: OutcomeApplied}}}, Forced},
		{"only the record was deleted: the history does not stop what is forced", Found{History: History{{Number: 1, Spec: []byte(a), Outcome: OutcomeApplied}}}, Forced},
		{"the record was deleted under a network in use", Found{}, Forced},
		{"an operator that kept no state wrote it", Found{Record: true, Data: map[string]string{KeyApplied: a}}, Normal},
		{"... and nothing is in the inventory yet: still no fresh cluster", Found{Record: true, InventoryEmpty: true, Data: map[string]string{KeyApplied: a}}, Normal},
		{"all is done", Found{Record: true, Data: map[string]string{KeyApplied: a, KeyState: "applied"}}, Normal},
		{"it was killed before it sent anything", Found{Record: true, Data: map[string]string{KeyIntent: a, KeyState: "intent"}}, Resume},
		{"it was killed halfway", Found{Record: true, Data: map[string]string{KeyApplied: a, KeyIntent: a, KeyState: "applying"}}, Resume},
		{"an emptied ConfigMap is no deleted one", Found{Record: true}, Corrupt},
		{"no JSON", Found{Record: true, Data: map[string]string{KeyApplied: "{"}}, Corrupt},
		{"JSON, but no object", Found{Record: true, Data: map[string]string{KeyApplied: "null"}}, Corrupt},
		{"another kind of value in a field", Found{Record: true, Data: map[string]string{KeyApplied: `{"serviceNetwork":"172.30.0.0/16"}`}}, Corrupt},
		{"two objects", Found{Record: true, Data: map[string]string{KeyApplied: a + a}}, Corrupt},
		{"a state from the future", Found{Record: true, Data: map[string]string{KeyApplied: a, KeyState: "paused"}}, Corrupt},
		{"applied, but not what", Found{Record: true, Data: map[string]string{KeyIntent: a, KeyState: "applied"}}, Corrupt},
		{"intent, but not what", Found{Record: true, Data: map[string]string{KeyApplied: a, KeyState: "intent"}}, Corrupt},
		{"a number that is none", Found{Record: true, Data: map[string]string{KeyApplied: a, keyRevision: "-1"}}, Corrupt},
		{"a truth that is none", Found{Record: true, Data: map[string]string{KeyApplied: a, keyForced: "maybe"}}, Corrupt},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got, r, err := Decide(tc.found)
			if got != tc.want {
				t.Errorf("Decide = %s, %v, want %s", got, err, tc.want)
			}
			if _, corrupt := errors.AsType[*CorruptError](err); corrupt != (tc.want == Corrupt) {
				t.Errorf("error %v", err)
			}
			if tc.want == Corrupt && (!strings.Contains(err.Error(), "delete it to apply") || r.Baseline() != nil) {
				t.Errorf("error %q does not have the way out, or a record is returned with it", err)
			}
		})
	}
}

func TestFieldsOfANewerOperatorAreKept(t *testing.T) {
	data := map[string]string{
		KeyApplied: `{"serviceNetwork":["172.30.0.0/16"],"defaultNetwork":{"type":"Flannel","flannelConfig":{"wings":2}},"clusterNetwork":[],"zeal":{"much":true},"disableNetworkDiagnostics":false}`,
		KeyState:   "applied", keyRevision: "7", "approvedBy": "the newer operator",
	}
	r, err := Decode(maps.Clone(data))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"defaultNetwork.flannelConfig.wings", "zeal"}, r.Applied.UnknownFields()); d != "" {
		t.Errorf("unknown fields are not reported: %s", d)
	}
	out := r.Encode()
	if out["approvedBy"] != data["approvedBy"] {
		t.Errorf("a key is lost: %v", out)
	}
	for _, kept := range []string{`"wings":2`, `"zeal":{"much":true}`} {
		if !strings.Contains(out[KeyApplied], kept) || !strings.Contains(string(r.Revision(OutcomeApplied, noon).Spec), kept) {
			t.Errorf("%s is lost: %s", kept, out[KeyApplied])
		}
	}
}

func TestHashIgnoresFormatting(t *testing.T) {
	parsed := func(text string) Snapshot { t.Helper(); return must[Snapshot](t)(parse(text)) }
	a := parsed(`{"serviceNetwork":["a"],"clusterNetwork":null}`)
	if b := parsed("{ \"clusterNetwork\" : null,\n\"serviceNetwork\":[ \"a\" ]}"); a.Hash() != b.Hash() || !a.Equal(b) {
		t.Error("order and spaces count")
	}
	if b := parsed(`{"serviceNetwork":["b"],"clusterNetwork":null}`); a.Hash() == b.Hash() {
		t.Error("a value does not count")
	}
	if b := parsed(`{"serviceNetwork":["a"],"clusterNetwork":null,"new":1}`); a.Hash() == b.Hash() {
		t.Error("a field of a newer operator does not count")
	}
	if (Snapshot{}).Hash() != "" || len(a.Hash()) != 32 {
		t.Errorf("hash %q", a.Hash())
	}
}

func TestSnapshotsDoNotChange(t *testing.T) {
	s := snapshot(t, "10.0.0.0/16")
	s.Spec().ServiceNetwork[0] = "changed"
	if s.Spec().ServiceNetwork[0] != "172.30.0.0/16" {
		t.Error("a caller can change a snapshot")
	}
	if _, err := NewSnapshot(nil); err == nil {
		t.Error("a snapshot of nothing")
	}
	if (Snapshot{}).Spec() != nil {
		t.Error("the zero snapshot has a specification")
	}
}

func FuzzDecodeNeverPanicsAndKeepsWhatItReads(f *testing.F) {
	a := snapshot(f, "10.0.0.0/16").String()
	f.Add(a, "applied", "", "1", "")
	f.Add("", "intent", a, "2", "true")
	f.Add(a, "applying", `{"unknown":[1e400,"<&>"]}`, "3", "false")
	f.Add(`{"observedConfig":{"a":1.50},"unsupportedConfigOverrides":null}`, "", "", "x", "maybe")
	f.Fuzz(func(t *testing.T, applied, state, intent, number, forced string) {
		data := map[string]string{}
		for k, v := range map[string]string{KeyApplied: applied, KeyState: state, KeyIntent: intent, keyRevision: number, keyForced: forced} {
			if v != "" {
				data[k] = v
			}
		}
		r, err := Decode(data)
		if err != nil {
			if _, ok := errors.AsType[*CorruptError](err); !ok {
				t.Errorf("error %v is no CorruptError", err)
			}
			return
		}
		back, err := Decode(r.Encode())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if d := cmp.Diff(r.Encode(), back.Encode()); d != "" {
			t.Error(d)
		}
		h := History{}.Append(r.Revision(OutcomeApplied, noon))
		out, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeHistory(out); err != nil || len(again) != 1 || again[0].Hash != h[0].Hash {
			t.Errorf("history %v, %v", again, err)
		}
	})
}

func TestTheNumberOfTheBaselineSurvivesACrashAtEveryStep(t *testing.T) {
	one, two := snapshot(t, "10.0.0.0/16"), snapshot(t, "10.0.0.0/15")
	r := Record{State: StateApplied, Applied: one, Number: 3}
	reread := func(r Record) Record {
		t.Helper()
		again, err := Decode(r.Encode())
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	intent := reread(r.Begin(Start{Intent: two, Number: 4, Acknowledged: "hash"}))
	if intent.BaselineNumber() != 3 || intent.Acknowledged != "hash" {
		t.Errorf("with the intent written: baseline %d, acknowledged %q", intent.BaselineNumber(), intent.Acknowledged)
	}
	applying, err := intent.MarkApplying()
	if err != nil || reread(applying).BaselineNumber() != 4 {
		t.Errorf("while it is applied: baseline %d, %v", applying.BaselineNumber(), err)
	}
	done, revision, err := reread(applying).MarkApplied(noon)
	if err != nil || reread(done).BaselineNumber() != 4 || revision.Acknowledged != "hash" {
		t.Errorf("applied: baseline %d, acknowledged %q, %v", done.BaselineNumber(), revision.Acknowledged, err)
	}
}

func TestDamagedRecordIsRebuilt(t *testing.T) {
	a, b := snapshot(t, "10.0.0.0/16"), snapshot(t, "10.1.0.0/16")
	history := History{
		{Number: 1, Spec: []byte(a.String()), Outcome: OutcomeHealthy, OperatorVersion: "v1"},
		{Number: 2, Spec: []byte("{"), Outcome: OutcomeApplied},
		{Number: 3, Spec: []byte(b.String()), Outcome: OutcomeAbandoned},
	}
	for _, tc := range []struct {
		why  string
		data map[string]string
		want Snapshot
	}{
		{"the newest revision that was applied and can be read", map[string]string{KeyApplied: "{", KeyState: "applied"}, a},
		{"an emptied record", nil, a},
		{"what was under way, if that can be read", map[string]string{KeyApplied: "{", KeyIntent: b.String(), KeyState: "applying"}, b},
		{"nothing, if it cannot: what exists is neither the old nor the new", map[string]string{KeyApplied: a.String(), KeyIntent: "{", KeyState: "applying"}, Snapshot{}},
	} {
		decision, r, err := Decide(Found{Record: true, Data: tc.data, History: history})
		if decision != Corrupt || err == nil || !r.Current().Equal(tc.want) {
			t.Errorf("%s: %s, %s, %v", tc.why, decision, r.Current(), err)
		}
	}
}
