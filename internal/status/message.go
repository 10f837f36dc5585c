package status

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

const (
	// mostLines is the maximum number of findings in a message; the others are counted.
	mostLines = 12
	// longestLine is the maximum number of bytes of a finding in a message.
	longestLine = 1024
)

// message returns a line for each finding. If there are several, each line begins with its component and its reason.
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
	return strings.Join(phrase.First(lines, mostLines), "\n")
}

func shorten(text string) string {
	if len(text) <= longestLine {
		return text
	}
	return strings.ToValidUTF8(text[:longestLine-len("...")], "") + "..."
}

// Names joins names for a sentence, the first few of them in alphabetical order: "a, b and 2 more".
func Names(names []string, most int) string {
	return phrase.Names(slices.Sorted(slices.Values(names)), most)
}
