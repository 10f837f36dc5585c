package preview

import (
	"fmt"
	"io"
	"strings"

	"github.com/cluster-network-operator/cno/internal/offline"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// signs are the prefixes of lines about objects.
var signs = map[plan.Verb]string{plan.Create: "+", plan.Apply: "~", plan.Recreate: "±", plan.Delete: "-"}

// disruptions lists the disruptions from the least to the most severe.
var disruptions = []provider.Disruption{provider.NoDisruption, provider.PodsRestart, provider.ConnectionsReset, provider.NodesReboot, provider.Outage}

// Write writes the preview as text.
func (a Result) Write(w io.Writer) error {
	p := printer{w: w}
	for _, e := range a.Errors {
		p.line("%s", problem(e))
	}
	if len(a.Detected) > 0 {
		p.line("Omitted fields:")
		for _, d := range a.Detected {
			p.line("  %s", d)
		}
	}
	a.writeChanges(&p)
	a.writeObjects(&p)
	for _, b := range a.Blocked {
		p.line("blocked: %s", b)
	}
	for _, n := range a.Notes {
		p.line("note: %s", n)
	}
	p.line("%s", a.summary())
	return p.err
}

func problem(e offline.Problem) string {
	at := e.File
	if e.Field != "" {
		at += ": " + e.Field
	}
	return fmt.Sprintf("%s: %s (%s)", at, e.Message, e.Rule)
}

func (a Result) writeChanges(p *printer) {
	if len(a.Changes) == 0 {
		return
	}
	p.line("Fields that change:")
	for _, c := range a.Changes {
		p.line("  %s: %s -> %s", c.Field, value(c.Old), value(c.New))
		text := fmt.Sprintf("%s; %s; disruption: %s", c.Decision, c.Class, c.Disruption)
		if c.Message != "" {
			text += "; " + c.Message
		}
		p.line("      %s", text)
	}
}

func value(v any) string {
	if text := offline.Text(v); text != "" {
		return text
	}
	return "nothing"
}

func (a Result) writeObjects(p *printer) {
	if len(a.Objects) == 0 {
		return
	}
	p.line("Objects:")
	for _, o := range a.Objects {
		sign, ok := signs[o.Action]
		if !ok {
			sign = " "
		}
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + o.Name
		}
		p.line("%s %s %s %s (%s)", sign, o.Action, o.Kind, name, o.APIVersion)
		if o.Action == plan.Create || o.Action == plan.Delete {
			continue // the whole object adds nothing to the line
		}
		for _, r := range o.Reasons {
			p.line("      %s", r)
		}
		for line := range strings.Lines(o.Diff) {
			p.line("    %s", strings.TrimSuffix(line, "\n"))
		}
	}
}

// summary returns the last line.
func (a Result) summary() string {
	counts := map[plan.Verb]int{}
	for _, o := range a.Objects {
		counts[o.Action]++
	}
	objects := fmt.Sprintf("%s created, %d changed, %d deleted", number(counts[plan.Create], "object"), counts[plan.Apply]+counts[plan.Recreate], counts[plan.Delete])
	switch a.Decision {
	case Invalid:
		return fmt.Sprintf("Invalid: %s. Nothing would be changed.", number(len(a.Errors), "error"))
	case Refused:
		return "Refused. Nothing would be changed."
	case Blocked:
		return fmt.Sprintf("Blocked: the API server refuses %s. cno doctor names the cause and how to remove it.", number(len(a.Blocked), "object"))
	case NeedsAcknowledgement:
		if a.Acknowledged {
			return fmt.Sprintf("Acknowledged: %s. Disruption at worst: %s.", objects, a.Disruption())
		}
		return fmt.Sprintf("Needs acknowledgement: %s. Disruption at worst: %s.\nTo make the change: cno apply -f %s --acknowledge %s, or annotate the object with %s=%s",
			objects, a.Disruption(), a.file, a.Acknowledgement, pipeline.AcknowledgeAnnotation, a.Acknowledgement)
	case Unchanged:
		if len(a.Objects) == 0 {
			return "Unchanged: nothing to do."
		}
		return fmt.Sprintf("Unchanged: the configuration is applied. Objects that differ from it and will be repaired: %s.", objects)
	}
	return fmt.Sprintf("Safe: %s changed, %s. Disruption at worst: %s.", number(len(a.Changes), "field"), objects, a.Disruption())
}

// number formats a count with its noun.
func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Disruption returns the most severe disruption of all changes.
func (a Result) Disruption() provider.Disruption {
	worst := 0
	for _, c := range a.Changes {
		for i, d := range disruptions {
			if c.Disruption == d {
				worst = max(worst, i)
			}
		}
	}
	return disruptions[worst]
}

// printer writes lines until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
