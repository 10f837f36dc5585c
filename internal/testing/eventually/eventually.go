// Package eventually waits for conditions in tests.
package eventually

import (
	"testing"
	"time"
)

const (
	// limit is that of every condition: machines that run tests are busy.
	limit = time.Minute
	every = 5 * time.Millisecond
)

// Holds waits until a condition holds. The test fails if it does not within a minute; have says what the state was.
func Holds(t testing.TB, what string, condition func() (have string, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(every) {
		have, ok := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s; the state is\n%s", what, limit, have)
		}
	}
}
