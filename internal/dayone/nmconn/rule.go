package nmconn

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// firstPriority is NMState's priority of the first rule without one.
const firstPriority = 30000

// rule is a rule of the document with its addresses read.
type rule struct {
	*nmstate.RouteRule
	path     string
	is6      bool
	from, to netip.Prefix
	priority int64
}

func (r rule) table() uint32 { return cmp.Or(value(r.RouteTable), mainTable) }

func (r rule) line() string {
	parts := []string{fmt.Sprintf("priority %d", r.priority)}
	if r.to.IsValid() {
		parts = append(parts, "to "+r.to.String())
	}
	switch {
	case r.from.IsValid():
		parts = append(parts, "from "+r.from.String())
	case !r.to.IsValid() && r.is6:
		parts = append(parts, "from ::/0")
	case !r.to.IsValid():
		parts = append(parts, "from 0.0.0.0/0")
	}
	if r.IIF != "" {
		parts = append(parts, "iif "+r.IIF)
	}
	if r.SuppressPrefixLength != nil {
		parts = append(parts, fmt.Sprintf("suppress_prefixlength %d", *r.SuppressPrefixLength))
	}
	if r.Action != "" {
		parts = append(parts, "type "+string(r.Action))
	}
	parts = append(parts, fmt.Sprintf("table %d", r.table()))
	if r.FWMark != nil {
		mark := fmt.Sprintf("fwmark %d", *r.FWMark)
		if r.FWMask != nil {
			mark += fmt.Sprintf("/%d", *r.FWMask)
		}
		parts = append(parts, mark)
	}
	return strings.Join(parts, " ")
}

// placeRules adds rules to profiles, in the order of the document.
func (n *network) placeRules() {
	if n.doc.RouteRules == nil {
		return
	}
	var rules []rule
	next := int64(firstPriority - 1)
	for idx := range n.doc.RouteRules.Config {
		r := rule{RouteRule: &n.doc.RouteRules.Config[idx], path: fmt.Sprintf("route-rules.config[%d]", idx)}
		if !r.Absent() && n.readRule(&r) {
			rules = append(rules, r)
			next = max(next, value(r.Priority))
		}
	}
	for _, r := range rules {
		r.priority = value(r.Priority)
		if r.Priority == nil || *r.Priority == -1 {
			next++
			r.priority = next
		}
		if holder := n.ruleHolder(r); holder != nil {
			f := holder.family(r.is6)
			f.rules = append(f.rules, r)
		}
	}
}

// readRule parses and checks a rule.
func (n *network) readRule(r *rule) bool {
	before := len(n.problems)
	if r.IPFrom == "" && r.IPTo == "" && r.Family == "" {
		n.problems.Errorf(n.doc, r.path, "has none of ip-from, ip-to and family; set one, to select packets")
	}
	r.is6 = r.Family == "ipv6"
	for _, end := range []struct {
		key, text string
		into      *netip.Prefix
	}{{"ip-from", r.IPFrom, &r.from}, {"ip-to", r.IPTo, &r.to}} {
		if end.text == "" {
			continue
		}
		p, ok := prefix(end.text)
		switch {
		case !ok:
			n.problems.Errorf(n.doc, r.path+"."+end.key, "is %q; a network such as 192.0.2.0/24 or an address is wanted", end.text)
		case r.Family != "" && p.Addr().Is6() != r.is6:
			n.problems.Errorf(n.doc, r.path+"."+end.key, "is %q, which is not of family %s", end.text, r.Family)
		case end.key == "ip-to" && r.from.IsValid() && p.Addr().Is6() != r.from.Addr().Is6():
			n.problems.Errorf(n.doc, r.path+".ip-to", "is %q, and ip-from %q is of the other family", end.text, r.IPFrom)
		default:
			*end.into, r.is6 = p, p.Addr().Is6()
		}
	}
	if r.FWMask != nil && r.FWMark == nil {
		n.problems.Errorf(n.doc, r.path+".fwmask", "needs fwmark beside it")
	}
	if p := value(r.Priority); p < -1 || p > 1<<32-1 {
		n.problems.Errorf(n.doc, r.path+".priority", "is %d; it is from 0 to %d", p, int64(1<<32-1))
	}
	return len(n.problems) == before
}

// ruleHolder selects the interface whose profile has a rule: the one that the rule names, one with routes of its table, the first with its family, or lo.
func (n *network) ruleHolder(r rule) *iface {
	if r.IIF != "" {
		switch i := n.kernel[r.IIF]; {
		case i == nil:
			n.problems.Errorf(n.doc, r.path+".iif", "is %q, which is no interface of this document; add it", r.IIF)
			return nil
		case i.mayHaveIP() && i.enabled(r.is6):
			return i
		}
	}
	// A rule without a table uses the main table.
	table := uint32(mainTable)
	if r.RouteTable != nil {
		table = *r.RouteTable
	}
	for _, i := range n.withRoutes() {
		if i.holdsTable(r.is6, table) {
			return i
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.kernel)) {
		if i := n.kernel[name]; i.holdsTable(r.is6, table) {
			return i
		}
	}
	for _, i := range n.order {
		if i.mayHaveIP() && i.enabled(r.is6) {
			return i
		}
	}
	return n.loopback(r.path)
}

// withRoutes returns the interfaces with static routes, in the order of the document's routes.
func (n *network) withRoutes() (out []*iface) {
	for _, r := range n.doc.Routes.GetConfig() {
		name := cmp.Or(r.NextHopInterface, loopback)
		if i := n.kernel[name]; i != nil && !r.Absent() && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out
}

// holdsTable reports whether the interface has routes of a table, or may get dynamic ones; like in NMState, this includes interfaces without static addresses.
// Table 0 only matches a route with table 0. It is false without the family, because NetworkManager would ignore the rule.
func (i *iface) holdsTable(is6 bool, table uint32) bool {
	if !i.mayHaveIP() || !i.enabled(is6) {
		return false
	}
	for _, r := range i.family(is6).routes {
		if r.table() == table || r.sortTable() == table {
			return true
		}
	}
	auto := uint32(0)
	if a, automatic := i.auto(is6); automatic {
		auto = value(a.AutoRouteTableID)
	}
	return cmp.Or(auto, mainTable) == table
}
