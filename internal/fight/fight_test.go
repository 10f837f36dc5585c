package fight_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/fight"
)

func TestFought(t *testing.T) {
	for _, tt := range []struct {
		why string
		// every is the time between repairs, quiet how long there has been none when it is asked.
		every   time.Duration
		repairs int
		quiet   time.Duration
		want    int
	}{
		{"rare repairs are no fight", 16 * time.Second, 100, 0, 0},
		{"nor are a few", time.Second, fight.After - 1, 0, 0},
		{"the fifth within a minute", 14 * time.Second, fight.After, 0, 5},
		{"the number changes rarely", 5 * time.Second, 19, 0, 10},
		{"and grows", 5 * time.Second, 170, 0, 160},
		{"it may continue", 5 * time.Second, 10, fight.Calm - time.Second, 10},
		{"it is over", 5 * time.Second, 10, fight.Calm, 0},
	} {
		var r fight.Repairs
		now := time.Unix(1_700_000_000, 0)
		for i := range tt.repairs {
			if i > 0 {
				now = now.Add(tt.every)
			}
			r.Add(now)
		}
		if got := r.Fought(now.Add(tt.quiet)); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.why, got, tt.want)
		}
	}
}

func TestTheNextFightIsCountedFromItsStart(t *testing.T) {
	var r fight.Repairs
	now := time.Unix(1_700_000_000, 0)
	for range 100 {
		now = now.Add(time.Second)
		r.Add(now)
	}
	now = now.Add(fight.Window + time.Second)
	if !r.Over(now) {
		t.Error("after a minute the repairs still matter")
	}
	var got []int
	for range fight.After {
		r.Add(now)
		got = append(got, r.Fought(now))
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0, fight.After}, got); diff != "" {
		t.Errorf("repairs of the next fight (-want +got):\n%s", diff)
	}
}
