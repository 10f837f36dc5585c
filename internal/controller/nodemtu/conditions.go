package nodemtu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/status"
)

// reasonProbe is the reason of nodes that could not be asked, which may pass by itself. What they have answered does not.
const reasonProbe = "MTUProbeFailed"

// named is how many nodes a sentence names; the others are counted.
const named = 10

// findings says what the record and the failures give rise to.
func findings(a actions, nodes []node) []status.Finding {
	var found []status.Finding
	if a.record.Settled == 0 && len(a.waiting) > 0 {
		found = append(found, finding(status.Progressing, "ProbingMTU", false,
			"waiting for the MTU of "+list(a.waiting)))
	}
	if odd := suspects(a.record); a.record.Settled == 0 && len(odd) > 0 {
		found = append(found, finding(status.Degraded, "MTUImplausible", false, fmt.Sprintf(
			"implausible MTU reported by %s: the link of a default route has %d to %d bytes; the network follows such a value only if most nodes report one",
			list(odd), leastPlausible, mostPlausible)))
	}
	var failed []string
	for _, n := range nodes {
		if f, ok := a.failures[n.uid]; ok && f.times > 0 {
			failed = append(failed, fmt.Sprintf("%s (%s)", n.name, f.why))
		}
	}
	if len(failed) > 0 {
		// A network that has been settled works without this answer.
		found = append(found, finding(status.Degraded, reasonProbe, a.record.Settled > 0,
			"could not probe the MTU of "+list(failed)+"; the operator retries"))
	}
	return append(found, outliers(a.record)...)
}

// suspects are the nodes whose MTU is implausible, with it.
func suspects(r hostmtu.Record) []string {
	var odd []string
	for name, n := range r.Nodes {
		if !plausible(n.MTU) {
			odd = append(odd, fmt.Sprintf("%s (%d)", name, n.MTU))
		}
	}
	return odd
}

// outliers finds nodes whose MTU is less than that of the network, which breaks large packets, nodes whose
// MTU is less than that of most, which makes the network slower than it could be, and nodes with more than most, which is worth
// knowing.
func outliers(r hostmtu.Record) []status.Finding {
	var small, odd, large []string
	usual := mode(r)
	for name, n := range r.Nodes {
		switch {
		case r.Settled > 0 && n.MTU < r.Settled:
			small = append(small, fmt.Sprintf("%s (%d)", name, n.MTU))
		case r.Settled == 0 && !plausible(n.MTU): // named as such
		case n.MTU < usual:
			odd = append(odd, fmt.Sprintf("%s (%d)", name, n.MTU))
		case n.MTU > usual:
			large = append(large, fmt.Sprintf("%s (%d)", name, n.MTU))
		}
	}
	var found []status.Finding
	if len(small) > 0 {
		found = append(found, finding(status.Degraded, "MTUTooSmall", false, fmt.Sprintf(
			"the network was configured for nodes with an MTU of at least %d; smaller: %s; large packets to and from their pods are lost", r.Settled, list(small))))
	}
	if len(odd) > 0 {
		found = append(found, finding(status.Degraded, "MTUOutliers", true, fmt.Sprintf(
			"most nodes have an MTU of %d, and less than that: %s; the network follows the least", usual, list(odd))))
	}
	if len(large) > 0 {
		found = append(found, finding(status.Noted, "MTUDiffers", true, fmt.Sprintf(
			"most nodes have an MTU of %d, and more than that: %s", usual, list(large))))
	}
	return found
}

// mode is the MTU that most nodes have, the greater one of two that are equally frequent.
func mode(r hostmtu.Record) int {
	count := map[int]int{}
	for _, n := range r.Nodes {
		count[n.MTU]++
	}
	best := 0
	for mtu, n := range count {
		if n > count[best] || n == count[best] && mtu > best {
			best = mtu
		}
	}
	return best
}

func finding(effect status.Effect, reason string, aside bool, message string) status.Finding {
	return status.Finding{Component: component, Effect: effect, Reason: reason, Message: message, Aside: aside, Immediate: reason != reasonProbe}
}

// list joins names: nodes a, b, c (2 more).
func list(names []string) string {
	slices.SortFunc(names, cmp.Compare[string])
	text := "node " + names[0]
	if len(names) > 1 {
		text = "nodes " + strings.Join(names[:min(named, len(names))], ", ")
	}
	if more := len(names) - named; more > 0 {
		text += fmt.Sprintf(" (%d more)", more)
	}
	return text
}
