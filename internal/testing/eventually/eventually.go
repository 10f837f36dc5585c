// Package eventually waits for conditions in tests.
package eventually

import (
	"testing"
	"time"
)

const (
	// Limit is that of a condition: machines that run tests are busy.
	Limit = time.Minute
	// often and seldom are how soon a condition is looked at again, first and after a while: to look may itself cost a server time.
	often, seldom = 5 * time.Millisecond, 50 * time.Millisecond
)

// IsOrShow waits until a condition holds. If it does not within the limit, the test fails with the state, which is only asked for then.
func IsOrShow(t testing.TB, limit time.Duration, what string, condition func() bool, state func() string) {
	t.Helper()
	pause := often
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(pause) {
		pause = min(pause+pause/4, seldom)
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s; the state is\n%s", what, limit, state())
		}
	}
}

// Holds waits until a condition holds. The test fails if it does not within a minute; have describes the state.
func Holds(t testing.TB, what string, condition func() (have string, ok bool)) {
	t.Helper()
	HoldsWithin(t, Limit, what, condition)
}

// HoldsWithin is Holds for conditions that take longer than Limit, or must hold sooner.
func HoldsWithin(t testing.TB, limit time.Duration, what string, condition func() (have string, ok bool)) {
	t.Helper()
	var have string
	IsOrShow(t, limit, what, func() (ok bool) { have, ok = condition(); return ok }, func() string { return have })
}

// Is waits until a condition holds that needs no description of the state.
func Is(t testing.TB, what string, condition func() bool) {
	t.Helper()
	IsOrShow(t, Limit, what, condition, func() string { return "not so" })
}

// Succeeds waits until a function returns no error.
func Succeeds(t testing.TB, what string, f func() error) {
	t.Helper()
	var err error
	IsOrShow(t, Limit, what, func() bool { err = f(); return err == nil }, func() string { return err.Error() })
}

// Stays looks for a while whether a condition holds. The test fails as soon as it does not.
func Stays(t testing.TB, during time.Duration, what string, condition func() (have string, ok bool)) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(often) {
		if have, ok := condition(); !ok {
			t.Fatalf("%s: not during %s; the state is\n%s", what, during, have)
		}
	}
}
