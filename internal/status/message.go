package status

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// mostLines is how many findings a message has; the others are counted.
	mostLines = 12
	// longestLine is how many bytes of a finding a message has.
	longestLine = 1024
)

// message has a line for each finding. If there are several, each line begins with its component and its reason.
func message(findings []Finding) string {
	var lines []string
	for _, f := range findings {
		line := shorten(f.Message)
		if len(findings) > 1 {
			line = strings.TrimPrefix(f.Component+": "+f.Reason+": "+line, ": ")
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - mostLines; more > 0 {
		lines = append(lines[:mostLines], fmt.Sprintf("(%d more)", more))
	}
	return strings.Join(lines, "\n")
}

func shorten(text string) string {
	if len(text) <= longestLine {
		return text
	}
	return strings.ToValidUTF8(text[:longestLine-len("...")], "") + "..."
}

// Names joins names for a sentence, the first few of them: "a, b and c (2 more)".
func Names(names []string, most int) string {
	names = slices.Clone(names)
	slices.Sort(names)
	more := len(names) - most
	if more > 0 {
		return fmt.Sprintf("%s (%d more)", strings.Join(names[:most], ", "), more)
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
