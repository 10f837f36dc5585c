// Package goroutines shows what all goroutines of a test do when it does not get further.
package goroutines

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"testing"
	"time"
)

// Dump writes what all goroutines do, those that do the same together.
func Dump(to io.Writer) error { return pprof.Lookup("goroutine").WriteTo(to, 1) }

// DumpAfter dumps to standard error if a test has not ended after its own time limit, and lets it continue: go test stops all tests of a
// package at once, and then only shows what the test that was waiting at that time did.
func DumpAfter(tb testing.TB, limit time.Duration) { dumpAfter(tb, limit, os.Stderr) }

func dumpAfter(tb testing.TB, limit time.Duration, to io.Writer) {
	name := tb.Name()
	timer := time.AfterFunc(limit, func() {
		// A dump that cannot be written is no reason to stop a test.
		_, _ = fmt.Fprintf(to, "%s has not ended after %s; all goroutines:\n", name, limit)
		_ = Dump(to)
	})
	tb.Cleanup(func() { timer.Stop() })
}
