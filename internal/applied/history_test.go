package applied

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func revisions(numbers ...int) History {
	var h History
	for _, n := range numbers {
		h = h.Append(Revision{Number: n, Spec: []byte("{}"), Time: noon, Outcome: OutcomeApplied})
	}
	return h
}

func numbers(h History) (out []int) {
	for _, r := range h {
		out = append(out, r.Number)
	}
	return out
}

func TestTheLastFiveRevisionsAreKept(t *testing.T) {
	if d := cmp.Diff([]int{3, 4, 5, 6, 7}, numbers(revisions(1, 2, 3, 4, 5, 6, 7))); d != "" {
		t.Error(d)
	}
}

func TestAppendingTwiceAfterACrashKeepsOne(t *testing.T) {
	h := revisions(1, 2)
	if d := cmp.Diff([]int{1, 2}, numbers(h.Append(h[1]))); d != "" {
		t.Error(d)
	}
}

func TestAppendDoesNotChangeTheOldHistory(t *testing.T) {
	h := revisions(1, 2, 3, 4, 5)
	h.Append(Revision{Number: 6})
	h.Append(Revision{Number: 2})
	if d := cmp.Diff([]int{1, 2, 3, 4, 5}, numbers(h)); d != "" {
		t.Error(d)
	}
}

func TestRevisionNumbersIncreaseAfterDeletions(t *testing.T) {
	for _, tc := range []struct {
		why    string
		h      History
		record int
		want   int
	}{
		{"a fresh cluster", nil, 0, 1},
		{"the record was deleted, to force a change", revisions(1, 2), 0, 3},
		{"the history was deleted", nil, 7, 8},
		{"it was killed between history and record", revisions(1, 2), 1, 3},
	} {
		if got := tc.h.Next(Record{Number: tc.record}); got != tc.want {
			t.Errorf("%s: Next = %d, want %d", tc.why, got, tc.want)
		}
	}
}

func TestHistoryRoundTrip(t *testing.T) {
	s := snapshot(t, "10.0.0.0/16")
	h := History{}.Append(Record{State: StateApplied, Applied: s, Number: 3, OperatorVersion: "v1", Forced: true}.Revision(OutcomeApplied, noon))
	data, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeHistory(data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, back); d != "" {
		t.Error(d)
	}
	if got, err := back[0].Snapshot(); err != nil || !got.Equal(s) {
		t.Errorf("the specification of the revision is %v, %v", got, err)
	}
}

func TestOversizedHistoryDropsTheOldest(t *testing.T) {
	var h History
	for n := range 3 {
		h = h.Append(Revision{Number: n + 1, Spec: []byte(`{"x":"` + strings.Repeat("y", 400<<10) + `"}`), Time: noon})
	}
	data, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeHistory(data)
	if d := cmp.Diff([]int{2, 3}, numbers(back)); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func TestUnreadableHistoryIsAnErrorAndAnEmptyOneIsNone(t *testing.T) {
	if _, err := DecodeHistory(map[string]string{KeyRevisions: "["}); err == nil || !strings.Contains(err.Error(), HistoryConfigMapName) {
		t.Errorf("error %v does not name the ConfigMap", err)
	}
	if h, err := DecodeHistory(nil); h != nil || err != nil {
		t.Errorf("%v, %v", h, err)
	}
	if data, err := (History(nil)).Encode(); err != nil || data[KeyRevisions] != "[]" {
		t.Errorf("an empty history is %v, %v", data, err)
	}
	if _, err := (Revision{Number: 2, Spec: []byte("1")}).Snapshot(); err == nil {
		t.Error("a revision without a specification gives one")
	}
}
