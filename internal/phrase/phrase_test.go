package phrase

import (
	"strings"
	"testing"
)

func TestListsInSentences(t *testing.T) {
	for _, tc := range []struct {
		why, list      string
		most           int
		names, clauses string
	}{
		{"nothing", "", 2, "", ""},
		{"one", "a", 2, "a", "a"},
		{"all fit", "a b c", 3, "a, b and c", "a; b; c"},
		{"the last does not fit", "a b c", 2, "a, b and 1 more", "a; b; and 1 more"},
		{"many", "a b c d e", 1, "a and 4 more", "a; and 4 more"},
	} {
		list := strings.Fields(tc.list)
		if got := Names(list, tc.most); got != tc.names {
			t.Errorf("%s: names %q, want %q", tc.why, got, tc.names)
		}
		if got := Clauses(list, tc.most); got != tc.clauses {
			t.Errorf("%s: clauses %q, want %q", tc.why, got, tc.clauses)
		}
		if got := strings.Join(list, " "); got != tc.list {
			t.Errorf("%s: the list is changed to %q", tc.why, got)
		}
	}
}

func TestNotesOfEventsAreShortEnough(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"empty", "", ""},
		{"as long as the API server takes", strings.Repeat("a", maxNote), strings.Repeat("a", maxNote)},
		{"longer", strings.Repeat("a", maxNote+1), strings.Repeat("a", maxNote-3) + "..."},
		{"a letter of two bytes at the limit", "a" + strings.Repeat("ü", maxNote), "a" + strings.Repeat("ü", maxNote/2-2) + "..."},
	} {
		if got := Note(row.text); got != row.want {
			t.Errorf("%s: %d bytes, %q", row.why, len(got), got)
		}
	}
}
