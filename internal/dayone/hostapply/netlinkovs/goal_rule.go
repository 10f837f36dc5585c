package netlinkovs

import (
	"maps"
	"slices"
	"strconv"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// firstPriority is the priority of the first rule without one, as in NMState.
const firstPriority = 30000

func rulesOf(g *goal, doc *nmstate.Document) {
	if doc.RouteRules == nil {
		return
	}
	next := firstPriority
	for _, r := range doc.RouteRules.Config {
		if r.Priority != nil && int(*r.Priority) >= next {
			next = int(*r.Priority) + 1
		}
	}
	for _, r := range doc.RouteRules.Config {
		if r.Absent() {
			g.noRules = append(g.noRules, r)
			continue
		}
		rule := ruleOf(r)
		if r.Priority == nil || *r.Priority < 0 {
			rule.Priority = next
			next++
		}
		g.rules = append(g.rules, rule)
	}
}

func ruleOf(r nmstate.RouteRule) livestate.Rule {
	out := livestate.Rule{Family: livestate.RuleFamily(r), Table: livestate.MainTable, Interface: r.IIF, Action: string(r.Action), SuppressPrefixLength: -1}
	out.From, _ = livestate.Destination(r.IPFrom) // already validated
	out.To, _ = livestate.Destination(r.IPTo)
	if r.Priority != nil {
		out.Priority = int(*r.Priority)
	}
	if r.RouteTable != nil && *r.RouteTable != 0 {
		out.Table = int(*r.RouteTable)
	}
	if out.Action != "" {
		out.Table = 0
	}
	if r.FWMark != nil {
		out.Mark, out.Mask = *r.FWMark, ^uint32(0)
	}
	if r.FWMask != nil {
		out.Mask = *r.FWMask
	}
	if r.SuppressPrefixLength != nil {
		out.SuppressPrefixLength = int(*r.SuppressPrefixLength)
	}
	return out
}

func off(b *bool) bool { return b != nil && !*b }

func yes() *bool {
	b := true
	return &b
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
