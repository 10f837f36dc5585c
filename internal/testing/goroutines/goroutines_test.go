package goroutines

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestATestThatTakesTooLongShowsItsGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		dumpAfter(t, time.Minute, &out)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if out.Len() > 0 {
			t.Errorf("too early: %s", out.String())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, want := range []string{t.Name() + " has not ended after 1m0s", "TestATestThatTakesTooLongShowsItsGoroutines"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in %s", want, out.String())
			}
		}
	})
}

func TestATestThatEndsShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		ends := &ending{TB: t}
		dumpAfter(ends, time.Minute, &out)
		ends.end()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if out.Len() > 0 {
			t.Errorf("it shows %s", out.String())
		}
	})
}

// ending is a test that ends on request.
type ending struct {
	testing.TB
	end func()
}

func (e *ending) Cleanup(f func()) { e.end = f }
