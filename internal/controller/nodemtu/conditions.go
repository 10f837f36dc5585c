package nodemtu

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// reasonProbe is the reason of nodes whose probe failed, which may be temporary. Reported values are not.
const reasonProbe = "MTUProbeFailed"

// maxNamed is the maximum number of nodes that a message lists; the rest is counted.
const maxNamed = 10

// findings returns the findings for the record and the failures.
func findings(a actions, nodes []node) []status.Finding {
	var found []status.Finding
	if a.record.Settled == 0 && len(a.waiting) > 0 {
		found = append(found, finding(status.Progressing, "ProbingMTU", false,
			"waiting for the MTU of "+list(a.waiting)))
	}
	if implausible := implausibleNodes(a.record); a.record.Settled == 0 && len(implausible) > 0 {
		found = append(found, finding(status.Degraded, "MTUImplausible", false, fmt.Sprintf(
			"implausible MTU reported by %s: the link of a default route has %d to %d bytes; the network follows such a value only if most nodes report one",
			list(implausible), minPlausible, maxPlausible)))
	}
	var failed []string
	for _, n := range nodes {
		if f, ok := a.failures[n.uid]; ok && f.count > 0 {
			failed = append(failed, fmt.Sprintf("%s (%s)", n.name, f.reason))
		}
	}
	if len(failed) > 0 {
		// A settled network works without this result.
		found = append(found, finding(status.Degraded, reasonProbe, a.record.Settled > 0,
			"could not probe the MTU of "+list(failed)+"; the operator retries"))
	}
	return append(found, outliers(a.record)...)
}

// implausibleNodes lists the nodes with an implausible MTU.
func implausibleNodes(r hostmtu.Record) []string {
	var implausible []string
	for name, n := range r.Nodes {
		if !plausible(n.MTU) {
			implausible = append(implausible, fmt.Sprintf("%s (%d)", name, n.MTU))
		}
	}
	return implausible
}

// outliers reports nodes whose MTU is less than that of the network, which loses large packets, less than that of most nodes, which slows
// down the network, or more than that of most nodes.
func outliers(r hostmtu.Record) []status.Finding {
	var small, below, large []string
	usual := mode(r)
	for name, n := range r.Nodes {
		switch {
		case r.Settled > 0 && n.MTU < r.Settled:
			small = append(small, fmt.Sprintf("%s (%d)", name, n.MTU))
		case r.Settled == 0 && !plausible(n.MTU): // reported as implausible
		case n.MTU < usual:
			below = append(below, fmt.Sprintf("%s (%d)", name, n.MTU))
		case n.MTU > usual:
			large = append(large, fmt.Sprintf("%s (%d)", name, n.MTU))
		}
	}
	var found []status.Finding
	if len(small) > 0 {
		found = append(found, finding(status.Degraded, "MTUTooSmall", false, fmt.Sprintf(
			"the network was configured for nodes with an MTU of at least %d; smaller: %s; large packets to and from their pods are lost", r.Settled, list(small))))
	}
	if len(below) > 0 {
		found = append(found, finding(status.Degraded, "MTUOutliers", true, fmt.Sprintf(
			"most nodes have an MTU of %d, and less than that: %s; the network follows the least", usual, list(below))))
	}
	if len(large) > 0 {
		found = append(found, finding(status.Noted, "MTUDiffers", true, fmt.Sprintf(
			"most nodes have an MTU of %d, and more than that: %s", usual, list(large))))
	}
	return found
}

// mode returns the most frequent MTU; of equally frequent ones the greatest.
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

// list formats names: nodes a, b, c and 2 more.
func list(names []string) string {
	slices.SortFunc(names, cmp.Compare[string])
	if len(names) == 1 {
		return "node " + names[0]
	}
	return "nodes " + phrase.Names(names, maxNamed)
}
