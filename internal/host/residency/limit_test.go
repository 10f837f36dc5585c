package residency

import (
	"math"
	"runtime"
	"testing"
)

func TestTheLimitFollowsWhatIsInUse(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct{ live, highest, want int64 }{
		"at the start nothing is known":            {0, math.MaxInt64, 40 * mib},
		"5,000 nodes fit":                          {20 * mib, 200 * mib, 40 * mib},
		"a collector has room in a larger cluster": {40 * mib, 200 * mib, 68 * mib},
		"never above the container's":              {300 * mib, 200 * mib, 200 * mib},
		"a user wants less":                        {20 * mib, 30 * mib, 30 * mib},
	} {
		if got := Limit(tc.live, 40*mib, tc.highest); got != tc.want {
			t.Errorf("%s: %d MiB, want %d", name, got/mib, tc.want/mib)
		}
	}
}

func TestLiveCountsTheHeap(t *testing.T) {
	kept := make([]byte, 32<<20)
	runtime.GC()
	if live := Live(); live < int64(len(kept)) {
		t.Errorf("%d bytes are in use", live)
	}
	runtime.KeepAlive(kept)
}
