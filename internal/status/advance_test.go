package status

import (
	"strings"
	"testing"
	"time"
)

// TestPodsThatAreCreatedRepeatedlyAreNoProgress: pods that are evicted or deleted, and created again each minute, stall a rollout; one
// that reaches another node each minute does not.
func TestPodsThatAreCreatedRepeatedlyAreNoProgress(t *testing.T) {
	for name, tc := range map[string]struct {
		updated func(minute int32) int32
		stalled bool
	}{
		"one pod is replaced over and over":             {func(int32) int32 { return 1 }, true},
		"and is missing in between":                     {func(minute int32) int32 { return minute % 2 }, true},
		"the last pod of all is replaced over and over": {func(int32) int32 { return 20 }, true},
		"another node is reached each minute":           {func(minute int32) int32 { return minute + 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Version: "v2", Wanted: []Workload{agent}, Applied: true, Previous: was(), Memory: settled("r1")}
			var got string
			for minute := range int32(13) {
				in.Now = now.Add(time.Duration(minute) * time.Minute)
				pod := Pod{Name: "p", Node: "n", Problem: Starting, Created: in.Now, Since: in.Now}
				in.Live = []Live{with(healthy(agent, pod), func(l *Live) {
					l.Revision, l.Desired, l.Current, l.Available, l.Updated = "r2", 20, 20, 19, tc.updated(minute)
				})}
				d := Decide(in)
				in.Memory = reloaded(t, d.Memory)
				got = texts(d.Conditions)["Degraded"]
			}
			if stalled := strings.HasPrefix(got, "True RolloutHung"); stalled != tc.stalled {
				t.Errorf("after 12 minutes: %s", got)
			}
		})
	}
}

// TestProgressIsNotedOnceAMinute: each time is a write, and a large cluster has thousands of pods.
func TestProgressIsNotedOnceAMinute(t *testing.T) {
	in := Input{Version: "v2", Wanted: []Workload{agent}, Applied: true, Previous: was(), Memory: settled("r1")}
	changes := 0
	for second := range int32(180) {
		in.Now = now.Add(time.Duration(second) * time.Second)
		in.Live = []Live{with(healthy(agent, Pod{Name: "p", Node: "n", Problem: Starting, Created: in.Now, Since: in.Now}), func(l *Live) {
			l.Revision, l.Desired, l.Current, l.Available, l.Updated = "r2", 5000, 5000, 4999, 20*second
		})}
		d := Decide(in)
		if !d.Memory.Equal(in.Memory) {
			changes++
		}
		in.Memory = d.Memory
	}
	if changes > 5 {
		t.Errorf("%d changes of the memory in three minutes", changes)
	}
}
