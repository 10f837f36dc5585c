package doctest

import (
	"fmt"
	"slices"
	"strings"
)

// Step is one thing to do in a document that is walked through from top to bottom.
//
// A fence of the language sh is a script; the words after sh select where it runs, for example on=master-0. What follows in
// a fence of the language text is what it must print. A fence with a word file=NAME is written to that file. A comment
// <!-- walk: ... --> has the test do what the text describes as the action of a third party.
type Step struct {
	File string
	Line int
	// Words are those after the language of a fence, or after "walk:".
	Words []string
	// Kind is "script", "file" or "elsewhere".
	Kind string
	Body string
	// Prints is what a script must print; Checked is set if the document has it.
	Prints  string
	Checked bool
}

// The kinds of steps.
const (
	Script    = "script"
	WriteFile = "file"
	Elsewhere = "elsewhere"
)

// String names the step as editors and compilers do.
func (s Step) String() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Word returns the value of a word of the form NAME=VALUE, empty if there is none.
func (s Step) Word(name string) string {
	for _, w := range s.Words {
		if value, ok := strings.CutPrefix(w, name+"="); ok {
			return value
		}
	}
	return ""
}

// Steps returns the steps of a document in their order. Fences of other languages are not steps; a fence that is not closed
// is an error, and so is one of the languages yaml and sh that would be left out.
func Steps(name, content string) ([]Step, error) {
	var steps []Step
	lines := strings.Split(content, "\n")
	for i := 0; i < len(lines); i++ {
		if action, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "<!-- walk:"); ok {
			steps = append(steps, Step{File: name, Line: i + 1, Kind: Elsewhere, Words: strings.Fields(strings.TrimSuffix(action, "-->"))})
			continue
		}
		words, indent, ok := opening(lines[i])
		if !ok {
			continue
		}
		end := closing(lines, i+1)
		if end < 0 {
			return nil, fmt.Errorf("%s:%d: the fence is not closed", name, i+1)
		}
		body := strings.Join(unindent(lines[i+1:end], indent), "\n") + "\n"
		step := Step{File: name, Line: i + 1, Body: body}
		if len(words) > 0 {
			step.Words = words[1:]
		}
		switch {
		case step.Word("file") != "":
			step.Kind = WriteFile
			steps = append(steps, step)
		case slices.Contains(words[:min(1, len(words))], "sh"):
			step.Kind = Script
			steps = append(steps, step)
		case slices.Contains(words[:min(1, len(words))], "text") && len(steps) > 0 && steps[len(steps)-1].Kind == Script:
			steps[len(steps)-1].Prints, steps[len(steps)-1].Checked = body, true
		case slices.Contains(words[:min(1, len(words))], "yaml"):
			return nil, fmt.Errorf("%s: nothing is done with this block; say file=NAME", step)
		}
		i = end
	}
	return steps, nil
}
