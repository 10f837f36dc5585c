package ovsdb

import (
	"fmt"
	"slices"
	"testing"
)

// TestCompareNamesWhatPlanChanges: the differences are those that the operations of Plan repair, and none is left afterwards.
func TestCompareNamesWhatPlanChanges(t *testing.T) {
	w := newWorld(t)
	desired := []Desired{logicalSwitch("node1", "a", "b"), switchPort("a", "0a:58:0a:00:00:05 10.0.0.5"), switchPort("b", "0a:58:0a:00:00:06 10.0.0.6")}
	for _, tt := range []struct {
		reason string
		change func()
		want   []string
	}{
		{"an empty database", func() {}, []string{`missing Logical_Switch "node1" []`, `missing Logical_Switch_Port "a" []`, `missing Logical_Switch_Port "b" []`}},
		{"nothing changes", func() {}, nil},
		{"a row that a third party changed", func() {
			w.commit(Update("Logical_Switch_Port", map[string]any{"enabled": false, "options": Map{}}, Equal("name", "a")))
		}, []string{`changed Logical_Switch_Port "a" [enabled options]`}},
		{"a row of which nothing is desired", func() {
			w.commit(Insert("Logical_Switch", "", map[string]any{"name": "old", "external_ids": Map{ownerMark: "master", keyMark: "old"}}))
		}, []string{`stale Logical_Switch "old" []`}},
		{"a row of another owner", func() {
			w.commit(Insert("Logical_Switch", "", map[string]any{"name": "foreign", "external_ids": Map{ownerMark: "another", keyMark: "old"}}))
		}, nil},
		{"two rows with one key: which of them is the copy depends on their UUIDs, and the other one may differ, too", func() {
			w.commit(Insert("Load_Balancer", "", map[string]any{"name": "x", "external_ids": Map{ownerMark: "master", keyMark: "x"}}),
				Insert("Load_Balancer", "", map[string]any{"name": "x", "external_ids": Map{ownerMark: "master", keyMark: "x"}}))
		}, []string{`duplicate Load_Balancer "x" []`, `stale Load_Balancer "x" []`}},
	} {
		tt.change()
		differences, err := Compare(w.schema, "master", desired, w.snapshot())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range differences {
			got = append(got, fmt.Sprintf("%s %s %v", d.Kind, d.Ref, d.Columns))
			if (d.UUID == "") != (d.Kind == Missing) {
				t.Errorf("%s: %v has the UUID %q", tt.reason, got, d.UUID)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
		}
		w.apply("master", desired)
		if left, err := Compare(w.schema, "master", desired, w.snapshot()); err != nil || len(left) > 0 {
			t.Errorf("%s: after the plan: %v, %v", tt.reason, left, err)
		}
	}
}
