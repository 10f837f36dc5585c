package ovs

import (
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/agent"
)

func TestAProcessThatRanForSomeTimeIsRestartedAtOnce(t *testing.T) {
	var ends agent.Backoff
	now := time.Unix(1000, 0)
	for i, c := range []struct {
		why       string
		ran, want time.Duration
	}{
		{"the first end", time.Minute, 0},
		{"it crashes once a minute", time.Minute, 0},
		{"it does not start", time.Second, time.Second},
		{"nor does it again", time.Second, 2 * time.Second},
		{"it has run", settledTime, 0},
		{"then it does not start", 0, time.Second},
	} {
		now = now.Add(c.ran)
		if got := restartDelay(&ends, c.ran, now); got != c.want {
			t.Errorf("%d, %s: %s, want %s", i, c.why, got, c.want)
		}
	}
}
