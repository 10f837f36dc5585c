package connectivity

import "strings"

// Ends are the two ends of a check, according to its name.
type Ends struct {
	// Source is the node of the source.
	Source string
	// Target is the node of the target if Node is true; otherwise it is the name of the target.
	Target string
	Node   bool
}

// EndsOf returns a function that parses names of checks that Names.Check made with the names of these nodes. ok is false for other names,
// and for nodes that are not in the list.
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
		// Names of nodes may contain the separator, too. A split whose target is a node wins; otherwise the one with the longest source.
		const separator = "-to-"
		var last Ends
		for at := 0; ; at++ {
			next := strings.Index(rest[at:], separator)
			if next < 0 {
				return last, last.Source != ""
			}
			at += next
			source, ok := full[rest[:at]]
			if !ok {
				continue
			}
			target := rest[at+len(separator):]
			if short, ok := strings.CutPrefix(target, TargetName+"-"); ok {
				if node, ok := full[short]; ok {
					return Ends{source, node, true}, true
				}
			}
			last = Ends{Source: source, Target: target}
		}
	}
}
