package connectivity

import "strings"

// Ends are what the name of a check says.
type Ends struct {
	// Source is the node of the source.
	Source string
	// Target is the node of the target if Node is true, and the target's own name otherwise.
	Target string
	Node   bool
}

// EndsOf returns a function that reads the names of checks, which Names.Check made with the names of these nodes. ok is false for a name
// that is not one, or is of a node that is not among them.
func EndsOf(nodes []string) func(check string) (e Ends, ok bool) {
	full := make(map[string]string, len(nodes))
	names := NewNames(nodes)
	for node, short := range names {
		full[short] = node
	}
	return func(check string) (Ends, bool) {
		rest, ok := strings.CutPrefix(check, SourceName+"-")
		if !ok {
			return Ends{}, false
		}
		// The names of nodes may contain the separator, too: a target that is a node decides, or else the longest source.
		const separator = "-to-"
		var last Ends
		for at := 0; ; at++ {
			next := strings.Index(rest[at:], separator)
			if next < 0 {
				return last, last.Source != ""
			}
			at += next
			source, known := full[rest[:at]]
			if !known {
				continue
			}
			target := rest[at+len(separator):]
			if short, is := strings.CutPrefix(target, TargetName+"-"); is {
				if node, known := full[short]; known {
					return Ends{source, node, true}, true
				}
			}
			last = Ends{Source: source, Target: target}
		}
	}
}
