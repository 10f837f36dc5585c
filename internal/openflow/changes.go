package openflow

import (
	"slices"
	"strings"
)

// Changes returns the commands that turn the flows of a bridge from those of one set into those of another, as a file of ovs-ofctl(8). It is empty if both
// have the same flows.
func Changes(from, to Set) string {
	before, after := bySelector(from), bySelector(to)
	var commands []string
	for selector := range before {
		if _, kept := after[selector]; !kept {
			commands = append(commands, "delete_strict "+selector+"\n")
		}
	}
	for selector, line := range after {
		if before[selector] != line {
			commands = append(commands, "add "+line) // replaces a flow with this selector
		}
	}
	slices.Sort(commands)
	return strings.Join(commands, "")
}

// bySelector returns the lines of a set by the selectors of their flows. It reads the text because a set of an earlier process has nothing else.
func bySelector(s Set) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(s.String()) {
		if strings.HasPrefix(line, rateComment) {
			continue
		}
		selector, _, _ := strings.Cut(line, beforeActions)
		if strings.HasPrefix(selector, "cookie=") {
			_, selector, _ = strings.Cut(selector, ", ")
		}
		out[selector] = line
	}
	return out
}
