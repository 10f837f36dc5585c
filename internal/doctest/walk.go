package doctest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Walk does the steps of a document.
type Walk struct {
	// Dir is where files are written and scripts run.
	Dir string
	// Env is added to the environment of scripts; a PATH in it counts.
	Env []string
	// Skip leaves out scripts with one of these words.
	Skip []string
	// On runs a script on the host that on= names, and returns its output. It may be nil if Skip has "on".
	On func(where, script string) (string, error)
	// Elsewhere does what a third party does. Nil does nothing.
	Elsewhere func(words []string) error
}

// Run does the steps, until one fails. The error has the position.
func (w Walk) Run(steps []Step) error {
	for _, s := range steps {
		if err := w.step(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (w Walk) step(s Step) error {
	switch s.Kind {
	case WriteFile:
		return os.WriteFile(filepath.Join(w.Dir, s.Word("file")), []byte(s.Body), 0o644)
	case Elsewhere:
		if w.Elsewhere == nil {
			return nil
		}
		return w.Elsewhere(s.Words)
	}
	where := s.Word("on")
	if where != "" && slices.Contains(w.Skip, "on") || slices.ContainsFunc(s.Words, func(word string) bool { return slices.Contains(w.Skip, word) }) {
		return nil
	}
	printed, err := w.script(where, s.Body)
	// A script that must fail has the word fails.
	if fails := slices.Contains(s.Words, "fails"); (err != nil) != fails {
		return fmt.Errorf("run script: %w\n%s", err, printed)
	}
	if s.Checked && strings.TrimRight(printed, "\n") != strings.TrimRight(s.Prints, "\n") {
		return fmt.Errorf("the document has\n%sand the script prints\n%s", s.Prints, printed)
	}
	return nil
}

func (w Walk) script(where, body string) (string, error) {
	if where != "" {
		return w.On(where, body)
	}
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", body)
	cmd.Dir, cmd.Env = w.Dir, append(os.Environ(), w.Env...)
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}
