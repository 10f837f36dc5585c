package status

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// The escape sequences of colours.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// Print writes the summary and the table as text. Ages are relative to now; colored adds terminal colours.
func (v View) Print(w io.Writer, now time.Time, colored bool) error {
	var text strings.Builder
	v.summary(&text)
	table := tabwriter.NewWriter(&text, 0, 4, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tAVAILABLE\tPROGRESSING\tDEGRADED\tVERSION\tSINCE\tMESSAGE")
	for _, c := range v.Components {
		since := "-"
		if !c.Since.IsZero() {
			since = duration.HumanDuration(max(0, now.Sub(c.Since)))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, dash(c.Available), dash(c.Progressing), dash(c.Degraded), dash(c.Version), since,
			strings.ReplaceAll(c.Message, "\n", "; "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	out := trimmed(text.String())
	if colored {
		out = v.colored(out)
	}
	_, err := io.WriteString(w, out)
	return err
}

func dash(text string) string { return cmp.Or(text, "-") }

// summary writes the lines above the table.
func (v View) summary(w *strings.Builder) {
	if v.Network == nil {
		fmt.Fprint(w, "Network: Network.operator.openshift.io/cluster does not exist\n\n")
		return
	}
	fmt.Fprintf(w, "Network: %s, pods %s, services %s\n", cmp.Or(v.Network.Type, "no type"),
		cmp.Or(strings.Join(v.Network.ClusterNetwork, ", "), "-"), cmp.Or(strings.Join(v.Network.ServiceNetwork, ", "), "-"))
	fmt.Fprintf(w, "State:   %s", v.State)
	if v.Why != "" {
		fmt.Fprintf(w, " (%s)", v.Why)
	}
	if v.Network.Generation != v.Network.ObservedGeneration {
		fmt.Fprintf(w, " (generation %d is not processed yet; the conditions are those of generation %d)", v.Network.Generation, v.Network.ObservedGeneration)
	}
	fmt.Fprintln(w)
	if v.Paused != nil {
		fmt.Fprintf(w, "Paused:  %s\n", v.Paused)
	}
	for _, warning := range v.Warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
	fmt.Fprintln(w)
}

// trimmed drops trailing blanks of lines, which result from empty cells.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// colored adds colours to the state and to each row with a problem. That comes after the layout of the table, since escape
// sequences have no width.
func (v View) colored(text string) string {
	lines := strings.Split(text, "\n")
	first := len(lines) - 1 - len(v.Components)
	for i, c := range v.Components {
		if color := c.color(); color != "" {
			lines[first+i] = color + lines[first+i] + plain
		}
	}
	text = strings.Join(lines, "\n")
	colors := map[string]string{healthy: green, progressing: yellow, degraded: red, unavailable: red, unknown: yellow}
	return strings.Replace(text, "State:   "+v.State, "State:   "+colors[v.State]+v.State+plain, 1)
}

func (c Component) color() string {
	switch {
	case c.Available == "False" || c.Available == "Unknown" || c.Degraded == "True":
		return red
	case c.Progressing == "True":
		return yellow
	default:
		return ""
	}
}
