// Package golden compares what code produces with files that people have read. Tests that import it have the flag -update, which writes
// the files again: read the difference before it is committed.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update.
var Update = flag.Bool("update", false, "write the expected outputs again")

// Compare fails the test if a file does not have the content.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; if the change is meant, run the test with -update):\n%s", file, diff)
	}
}
