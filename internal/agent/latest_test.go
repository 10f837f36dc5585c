package agent

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Callers share readings, and none gets a value that was read before it asked.
func TestCallersShareReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads LatestBy[time.Time]
		readings := 0
		read := func() (time.Time, error) {
			readings++
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			return began, nil
		}
		var callers sync.WaitGroup
		for i := range 200 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond / 4)
				asked := time.Now()
				began, err := reads.Get("a", read)
				if err != nil || began.Before(asked) {
					t.Errorf("a caller that asked at %s has a reading that began at %s, %v", asked, began, err)
				}
				if took := time.Since(asked); took > 20*time.Millisecond {
					t.Errorf("a caller waited for %s, longer than for two readings", took)
				}
			})
		}
		callers.Wait()
		if readings > 7 {
			t.Errorf("%d readings within 50 ms and one at the end, each of 10 ms", readings)
		}
		if len(reads.all) > 0 {
			t.Errorf("%d keys are kept", len(reads.all))
		}
	})
}
