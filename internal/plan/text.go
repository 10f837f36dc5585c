package plan

import (
	"fmt"
	"strings"
)

// String returns the action as a line: "apply DaemonSet ns/name: spec.replicas: 1 -> 2; ...".
func (a Action) String() string {
	line := string(a.Verb) + " " + a.Key.String()
	if len(a.Reasons) > 0 {
		line += ": " + strings.Join(a.Reasons, "; ")
	}
	return line
}

// String returns the plan as text: a line for each object with an action or reasons, and one with the number of the
// others.
func (p Plan) String() string {
	var out strings.Builder
	same := 0
	for _, a := range p.Actions {
		if a.Verb == None {
			same++
			continue
		}
		out.WriteString(a.String())
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "%d objects are as wanted\n", same)
	return out.String()
}
