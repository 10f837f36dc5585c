package kit

import "testing"

// Full skips a test in the quick tier (go test -short, as make e2e runs it), for which it takes too long. make e2e-all runs all tests.
func Full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make e2e-all runs it")
	}
}
