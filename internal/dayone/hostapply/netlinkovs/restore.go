package netlinkovs

import (
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// touched returns the links that a document changes: the links that it names, their ports, parents and veth peers, and the links of its routes.
func touched(doc *nmstate.Document, live livestate.State) []string {
	var names []string
	for n := range doc.Interfaces {
		i := &doc.Interfaces[n]
		if i.State == nmstate.StateIgnore {
			continue
		}
		names = append(names, i.Name)
		names = append(names, i.Members()...)
		if i.Veth != nil {
			names = append(names, i.Veth.Peer)
		}
		if existing, ok := live.Link(i.Name); ok && existing.Peer != "" && i.State == nmstate.StateAbsent {
			names = append(names, existing.Peer)
		}
	}
	if doc.Routes != nil {
		for _, r := range doc.Routes.Config {
			if r.NextHopInterface != "" {
				names = append(names, r.NextHopInterface)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// goalBefore returns the goal of the network at the time of a snapshot.
func goalBefore(s snapshot, doc *nmstate.Document, live livestate.State) goal {
	g := goal{ovs: ovsbridge.Undo(s.OVS, s.Bridges, doc), names: livestate.AltNamesBefore(doc, s.State), hostname: ""}
	for _, name := range s.Links {
		had, was := s.State.Link(name)
		if !was {
			if now, exists := live.Link(name); exists && livestate.Virtual(&nmstate.Interface{}, now) && now.Kind != "tun" && now.Kind != string(nmstate.TypeOVSInterface) {
				g.gone = append(g.gone, name)
			}
			continue
		}
		g.links = append(g.links, linkBefore(*had, s))
	}
	for _, r := range s.State.Routes {
		if r.Protocol != "kernel" && r.Protocol != "ra" && slices.Contains(s.Links, r.Interface) || r.Type != "" {
			g.routes = append(g.routes, r)
		}
	}
	g.noRoutes = specialRoutes(doc)
	rulesBefore(&g, s, doc)
	if doc.Hostname != nil && doc.Hostname.Running != "" {
		g.hostname = s.State.Hostname
	}
	return g
}

func linkBefore(had livestate.Link, s snapshot) linkGoal {
	g := linkGoal{
		name: had.Name, mac: had.MAC, mtu: had.MTU, up: &had.Up, controller: &had.Controller, sysctls: s.Sysctls[had.Name],
		v4: familyGoal{owned: true}, v6: familyGoal{owned: true},
	}
	if _, ovs := s.State.OVSBridge(had.Controller); ovs || had.Controller == ovsDatapath {
		none := "" // of those that netlink sets
		g.controller = &none
	}
	if had.Kind == "tun" || had.Kind == string(nmstate.TypeOVSInterface) {
		g.mac, g.mtu = "", 0 // so it does here
	}
	if livestate.Virtual(&nmstate.Interface{}, &had) {
		g.create = &had
	}
	for _, a := range had.Addresses {
		switch addr := a.Prefix.Addr(); {
		case addr.Is4():
			g.v4.addresses = append(g.v4.addresses, a)
		case addr.IsLinkLocalUnicast(): // set by the kernel
		case a.Dynamic: // a router advertises it again
			g.v6.advertised = true
		default:
			g.v6.addresses = append(g.v6.addresses, a)
		}
	}
	if s.Sysctls[had.Name]["accept_ra"] != "0" {
		g.v6.advertised = true
	}
	return g
}

// specialRoutes returns the document's routes without a link, as absent routes.
func specialRoutes(doc *nmstate.Document) []nmstate.Route {
	var out []nmstate.Route
	if doc.Routes != nil {
		for _, r := range doc.Routes.Config {
			if !r.Absent() && r.RouteType != "" {
				r.State = "absent"
				out = append(out, r)
			}
		}
	}
	return out
}

// rulesBefore removes the rules that the document added, and restores the host's earlier rules.
func rulesBefore(g *goal, s snapshot, doc *nmstate.Document) {
	var after goal
	rulesOf(&after, doc)
	if doc.RouteRules == nil {
		return
	}
	for _, r := range after.rules {
		if !slices.Contains(s.State.Rules, r) {
			g.dropRules = append(g.dropRules, r)
		}
	}
	g.rules = slices.DeleteFunc(slices.Clone(s.State.Rules), func(r livestate.Rule) bool {
		return !slices.ContainsFunc(after.noRules, func(p nmstate.RouteRule) bool { return livestate.RuleMatches(p, r) })
	})
}
