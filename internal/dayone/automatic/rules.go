package automatic

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// rules moves the rules that lead packets into routing tables of the interface, or are about packets that come in there: whoever
// applied its old profile takes them away with it.
func (m *Made) rules(live livestate.State, holder *livestate.Link, bridge string) {
	tables := map[int]bool{}
	for _, r := range live.Routes {
		if r.Interface == holder.Name && r.Table != livestate.MainTable && r.Protocol != "kernel" {
			tables[r.Table] = true
		}
	}
	for _, r := range live.Rules {
		if !tables[r.Table] && r.Interface != holder.Name {
			continue
		}
		if m.Document.RouteRules == nil {
			m.Document.RouteRules = &nmstate.RouteRules{}
		}
		out := ruleOf(r)
		if r.Interface == holder.Name {
			out.IIF = bridge
		}
		m.Document.RouteRules.Config = append(m.Document.RouteRules.Config, out)
	}
}

// ruleOf says of a rule what a document can.
func ruleOf(r livestate.Rule) nmstate.RouteRule {
	priority := int64(r.Priority)
	out := nmstate.RouteRule{
		Family: "ipv4", IPFrom: network(r.From), IPTo: network(r.To), Priority: &priority, IIF: r.Interface, Action: nmstate.Special(r.Action),
	}
	if r.Family == 6 {
		out.Family = "ipv6"
	}
	if r.Table != 0 {
		table := uint32(r.Table)
		out.RouteTable = &table
	}
	if r.Mark != 0 || r.Mask != 0 {
		out.FWMark, out.FWMask = &r.Mark, &r.Mask
	}
	if r.SuppressPrefixLength >= 0 {
		length := uint32(r.SuppressPrefixLength)
		out.SuppressPrefixLength = &length
	}
	return out
}

func network(p netip.Prefix) string {
	if !p.IsValid() {
		return ""
	}
	return p.String()
}
