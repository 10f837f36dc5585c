package exit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestReportPrintsEachErrorOnceAndReturnsItsStatus(t *testing.T) {
	for _, c := range []struct {
		why     string
		err     error
		status  int
		message string
	}{
		{"nothing went wrong", nil, OK, ""},
		{"a wrong call is unusable input", errors.New("unknown flag: --x"), Unusable, "cno: unknown flag: --x\n"},
		{"an error that was printed is not printed again", &Code{Status: Refused}, Refused, ""},
		{"a status may come with its error", &Code{Status: Refused, Err: errors.New("no")}, Refused, "cno: no\n"},
		{"a wrapped status counts", fmt.Errorf("run: %w", &Code{Status: Refused}), Refused, ""},
	} {
		var out strings.Builder
		if got := Report(&out, "cno", c.err); got != c.status || out.String() != c.message {
			t.Errorf("%s: status %d, printed %q; want %d, %q", c.why, got, out.String(), c.status, c.message)
		}
	}
}
