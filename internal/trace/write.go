package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// mostFlows is the maximum number of flows of a step that are printed unless all are requested.
const mostFlows = 3

// Write writes the answer as text. Flows of steps that pass are written if all is true.
func (a Answer) Write(w io.Writer, all bool) error {
	var b strings.Builder
	to := a.To.String()
	if a.Service != nil {
		to = fmt.Sprintf("Service %s, port %d", a.Service.Name, a.Service.Port)
	} else {
		to += fmt.Sprintf(", port %d", a.Port)
	}
	fmt.Fprintf(&b, "%s from %s to %s, on %s\n", a.Protocol, a.From, to, a.Network)
	for _, part := range []struct {
		title     string
		steps     []Step
		installed bool
	}{
		{"The packet, by the objects of the cluster", a.Request, false},
		{"The packet, by the flows and routes that the network installed", a.Request, true},
		{"The reply, by the objects of the cluster", a.Reply, false},
		{"The reply, by the flows and routes that the network installed", a.Reply, true},
	} {
		writePart(&b, part.title, part.steps, part.installed, all)
	}
	for i, n := range a.Notes {
		if i == 0 {
			b.WriteString("\nNotes\n")
		}
		fmt.Fprintf(&b, "  %s\n", n)
	}
	fmt.Fprintf(&b, "\nResult: %s.\n", a.Result)
	_, err := io.WriteString(w, b.String())
	return err
}

func writePart(b *strings.Builder, title string, steps []Step, installed, all bool) {
	started := false
	for _, s := range steps {
		if s.Installed != installed {
			continue
		}
		if !started {
			fmt.Fprintf(b, "\n%s\n", title)
			started = true
		}
		mark := "pass"
		if !s.OK {
			mark = "STOP"
		}
		fmt.Fprintf(b, "  %s  %s: %s\n", mark, s.Where, s.What)
		if s.OK && !all {
			continue
		}
		flows := s.Flows
		more := 0
		if !all && len(flows) > mostFlows {
			// The last ones decide.
			more = len(flows) - mostFlows
			flows = flows[more:]
		}
		if more > 0 {
			fmt.Fprintf(b, "          (%s before; --flows prints all)\n", phrase.More(more))
		}
		for _, f := range flows {
			fmt.Fprintf(b, "          %s\n", f)
		}
	}
}
