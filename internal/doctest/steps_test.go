package doctest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/doctest"
)

// document lets raw strings hold fences.
func document(s string) string { return strings.ReplaceAll(s, "'''", "```") }

func TestDocumentIsExecutedInOrder(t *testing.T) {
	steps, err := doctest.Steps("a.md", document(`# x
'''yaml file=a.txt
one
'''
'''sh
cat a.txt
'''
'''text
one
'''
<!-- walk: boot host a.txt -->
'''sh on=host
hostname
'''
'''text
host
'''
'''json
{}
'''
'''sh fails
exit 3
'''
`))
	if err != nil {
		t.Fatal(err)
	}
	var run []string
	w := doctest.Walk{
		Dir:       t.TempDir(),
		Elsewhere: func(words []string) error { run = append(run, words...); return nil },
		On:        func(where, script string) (string, error) { return where + "\n", nil },
	}
	if err := w.Run(steps); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(run, " "); len(steps) != 5 || got != "boot host a.txt" {
		t.Errorf("%d steps, got %q", len(steps), got)
	}
	if _, err := os.Stat(filepath.Join(w.Dir, "a.txt")); err != nil {
		t.Error(err)
	}
}

func TestDifferenceFromTheDocumentIsAnErrorWithItsPosition(t *testing.T) {
	for why, row := range map[string]struct{ text, message string }{
		"a script that fails":            {"\n'''sh\nexit 1\n'''\n", "a.md:2: run script"},
		"a script that should have":      {"'''sh fails\ntrue\n'''\n", "a.md:1: run script"},
		"another output":                 {"'''sh\necho a\n'''\n'''text\nb\n'''\n", "a.md:1: the document has"},
		"something fails on another one": {"'''sh on=b\ntrue\n'''\n", "a.md:1: run script"},
	} {
		steps, err := doctest.Steps("a.md", document(row.text))
		if err != nil {
			t.Fatal(err)
		}
		on := func(_, _ string) (string, error) { return "", errors.New("gone") }
		if err := (doctest.Walk{Dir: t.TempDir(), On: on}).Run(steps); err == nil || !strings.Contains(err.Error(), row.message) {
			t.Errorf("%s: got %v", why, err)
		}
	}
}

func TestUntestedBlockIsAnError(t *testing.T) {
	for why, text := range map[string]string{"YAML for nothing": "'''yaml\na: 1\n'''\n", "an open fence": "'''sh\ntrue\n"} {
		if _, err := doctest.Steps("a.md", document(text)); err == nil {
			t.Error(why)
		}
	}
}
