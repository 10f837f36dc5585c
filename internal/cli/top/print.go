package top

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/ui/page"
)

// print writes the screen.
func (s screen) print(w io.Writer, now time.Time, colored bool) error {
	var text strings.Builder
	if err := s.Overview.Status.Print(&text, now, colored); err != nil {
		return err
	}
	s.rollout(&text)
	s.nodes(&text)
	s.checks(&text, now)
	for _, m := range s.Overview.Missing {
		fmt.Fprintf(&text, "\nincomplete: %s\n", m)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (s screen) rollout(w *strings.Builder) {
	r := s.Overview.Rollout
	if r == nil {
		return
	}
	fmt.Fprintf(w, "\nRollout: %d %% of the pods are up to date", r.Percent)
	if r.SecondsLeft > 0 {
		fmt.Fprintf(w, ", about %s left", duration.HumanDuration(time.Duration(r.SecondsLeft)*time.Second))
	}
	fmt.Fprintln(w)
	for _, load := range r.Workloads {
		fmt.Fprintf(w, "  %s %s\n", bar(float64(load.Done), float64(load.Nodes)), load)
	}
}

func (s screen) nodes(w *strings.Builder) {
	total := 0
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(s.Nodes)) {
		total += s.Nodes[state]
		parts = append(parts, fmt.Sprintf("%d %s", s.Nodes[state], state))
	}
	fmt.Fprintf(w, "\nNodes: %d", total)
	if len(parts) > 0 {
		fmt.Fprintf(w, " (%s)", strings.Join(parts, ", "))
	}
	fmt.Fprintln(w)
	for i, n := range s.Attention {
		if i == mostRows {
			fmt.Fprintln(w, " ", phrase.More(len(s.Attention)-i))
			break
		}
		fmt.Fprintf(w, "  %s: %s: %s\n", n.Name, n.State, n.Why)
	}
	for _, p := range s.Pools {
		fmt.Fprintf(w, "Pool:  %s %s, %d of %.0f blocks of /%d in use\n", bar(float64(p.Used), p.Blocks), p.CIDR, p.Used, p.Blocks, p.HostPrefix)
	}
}

func (s screen) checks(w *strings.Builder, now time.Time) {
	fmt.Fprintf(w, "Paths: %d of %d connectivity checks reach their target\n", s.Checks-len(s.Failing), s.Checks)
	for i, c := range s.Failing {
		if i == mostRows {
			fmt.Fprintln(w, " ", phrase.More(len(s.Failing)-i))
			break
		}
		fmt.Fprintf(w, "  %s -> %s: fails for %s: %s\n", c.Source, c.Target, age(c, now), c.Message)
	}
}

func age(c page.Check, now time.Time) string {
	if c.Since.IsZero() {
		return "an unknown time"
	}
	return duration.HumanDuration(max(0, now.Sub(c.Since)))
}

// bar returns a share as a bar of ASCII characters.
func bar(part, whole float64) string {
	filled := 0
	if whole > 0 {
		filled = int(part / whole * width)
	}
	filled = min(max(filled, 0), width)
	return "[" + strings.Repeat("#", filled) + strings.Repeat(".", width-filled) + "]"
}
