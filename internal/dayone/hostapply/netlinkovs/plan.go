package netlinkovs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// planLinks returns the steps that create all links of a goal, which is the first half of a plan. The second half depends on the properties of the new links.
func planLinks(g goal, live livestate.State) []step {
	var steps []step
	for _, name := range g.gone {
		if _, exists := live.Link(name); exists {
			steps = append(steps, step{action: deleteLink, link: name})
		}
	}
	for _, l := range parentsFirst(g.links) {
		if _, exists := live.Link(l.name); !exists && l.create != nil && !createdAsPeer(l, g) {
			steps = append(steps, step{action: createLink, link: l.name, create: l.create})
		}
	}
	return append(steps, step{action: changeOVS, ovs: g.ovs})
}

// createdAsPeer reports whether the link is created together with the other end of a veth pair, which comes first.
func createdAsPeer(l linkGoal, g goal) bool {
	if l.create.Peer == "" {
		return false
	}
	for _, other := range g.links {
		if other.name == l.name {
			return false
		}
		if other.name == l.create.Peer && other.create != nil && other.create.Peer == l.name {
			return true
		}
	}
	return false
}

// parentsFirst sorts parents of VLANs and similar links before their children.
func parentsFirst(links []linkGoal) []linkGoal {
	depth := func(l linkGoal) int {
		n := 0
		for l.create != nil && l.create.Parent != "" && n < len(links) {
			i := slices.IndexFunc(links, func(p linkGoal) bool { return p.name == l.create.Parent })
			if i < 0 {
				break
			}
			n++
			l = links[i]
		}
		return n
	}
	return slices.SortedStableFunc(slices.Values(links), func(a, b linkGoal) int { return depth(a) - depth(b) })
}

// planConfig returns the steps that configure existing links. Addresses are removed from a card before they are added to the bridge above it, so that two
// links never have the same address, and not before the bond below forwards packets. Routes are added after all addresses, including leased ones.
func planConfig(g goal, live livestate.State) ([]step, error) {
	var attributes, bonds, removals, additions, leases []step
	for _, l := range g.links {
		existing, exists := live.Link(l.name)
		if !exists {
			return nil, fmt.Errorf("there is no interface %s", l.name)
		}
		attributes = append(attributes, attributesOf(l, existing, live)...)
		if existing.Bond != nil && existing.Bond.Mode == "802.3ad" {
			bonds = append(bonds, step{action: awaitLACP, link: l.name})
		}
		removals = append(removals, removalsOf(l.v4, false, existing, g, live)...)
		removals = append(removals, removalsOf(l.v6, true, existing, g, live)...)
		additions = append(additions, additionsOf(l.v4, existing)...)
		additions = append(additions, additionsOf(l.v6, existing)...)
		if l.v4.lease != nil {
			leases = append(leases, step{action: getLease, link: l.name, lease: l.v4.lease})
		}
	}
	steps := slices.Concat(attributes, nameSteps(g, live), bonds, removals, additions)
	switch {
	case len(leases) > 0: // leases add servers
		for n := range leases {
			leases[n].dns = dnsOf(g)
		}
	case g.dns != nil && !sameDNS(*g.dns, live.DNS):
		steps = append(steps, step{action: setDNS, dns: *g.dns})
	}
	// A static route may use the network of a lease.
	steps = slices.Concat(steps, leases, routeSteps(g, live), ruleSteps(g, live))
	if g.hostname != "" && g.hostname != live.Hostname {
		steps = append(steps, step{action: setHostname, value: g.hostname})
	}
	return steps, nil
}

func nameSteps(g goal, live livestate.State) []step {
	var steps []step
	remove, add := livestate.Missing(g.names, live)
	for _, l := range remove {
		for _, name := range l.Remove {
			steps = append(steps, step{action: removeAltName, link: l.Link, value: name})
		}
	}
	for _, l := range add {
		for _, name := range l.Add {
			steps = append(steps, step{action: addAltName, link: l.Link, value: name})
		}
	}
	return steps
}

func attributesOf(l linkGoal, existing *livestate.Link, live livestate.State) []step {
	var steps []step
	add := func(when bool, a action, value string) {
		if when {
			steps = append(steps, step{action: a, link: l.name, value: value})
		}
	}
	// The kernel does not let a bond take a port that is up.
	controller := existing.Controller
	if _, ovs := live.OVSBridge(controller); ovs || controller == ovsDatapath {
		controller = "" // the database defines that
	}
	moved := l.controller != nil && *l.controller != controller
	add(moved && existing.Up && *l.controller != "", setDown, "")
	add(moved, setController, orNone(l.controller))
	add(l.mac != "" && l.mac != existing.MAC, setMAC, l.mac)
	add(l.mtu != 0 && l.mtu != existing.MTU, setMTU, fmt.Sprint(l.mtu))
	for _, key := range sortedKeys(l.sysctls) {
		add(true, setSysctl, key+"="+l.sysctls[key])
	}
	add(l.up != nil && *l.up && (!existing.Up || moved), setUp, "")
	add(l.up != nil && !*l.up && existing.Up, setDown, "")
	add(l.uplink && existing.Driver == vmxnet3, setAllMulti, "")
	return steps
}

// vmxnet3 is a driver that passes multicast to a bridge only with the allmulti flag.
const vmxnet3 = "vmxnet3"

// ovsDatapath is the name of the controller of ports of the kernel's Open vSwitch datapath.
const ovsDatapath = "ovs-system"

func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// removalsOf returns the steps that remove undesired routes and addresses of a link. Routes come first, since the kernel keeps IPv6 routes when it removes
// their address.
func removalsOf(f familyGoal, six bool, existing *livestate.Link, g goal, live livestate.State) []step {
	if !f.owned {
		return nil
	}
	var steps []step
	for _, r := range live.Routes {
		ofFamily := r.Interface == existing.Name && r.Destination.Addr().Is6() == six && r.Protocol != "kernel"
		fromElsewhere := r.Protocol == "ra" && f.advertised || r.Protocol == "dhcp" && f.lease != nil
		if ofFamily && !fromElsewhere && !wanted(r, g.routes) {
			steps = append(steps, step{action: removeRoute, route: r})
		}
	}
	for _, a := range existing.Addresses {
		addr := a.Prefix.Addr()
		fromElsewhere := a.Dynamic && (f.advertised || f.lease != nil)
		kernels := addr.Is6() && addr.IsLinkLocalUnicast()
		if addr.Is6() == six && !fromElsewhere && !kernels && !has(f.addresses, a) {
			steps = append(steps, step{action: removeAddress, link: existing.Name, address: a})
		}
	}
	return steps
}

func additionsOf(f familyGoal, existing *livestate.Link) []step {
	var steps []step
	for _, a := range f.addresses {
		if !has(existing.Addresses, a) {
			steps = append(steps, step{action: addAddress, link: existing.Name, address: a})
		}
	}
	return steps
}

func has(all []livestate.Address, a livestate.Address) bool {
	return slices.ContainsFunc(all, func(b livestate.Address) bool { return a.Prefix == b.Prefix && a.Dynamic == b.Dynamic && !b.Duplicate })
}

func wanted(r livestate.Route, routes []livestate.Route) bool {
	return slices.ContainsFunc(routes, func(w livestate.Route) bool { return sameRoute(w, r) })
}

func sameRoute(want, existing livestate.Route) bool {
	metric := want.Metric
	if metric == 0 && want.Destination.Addr().Is6() {
		metric = defaultMetric6
	}
	return want.Destination == existing.Destination && want.Via == existing.Via && (want.Interface == existing.Interface || want.Type != "") &&
		metric == existing.Metric && want.Table == existing.Table && want.Type == existing.Type && want.Source == existing.Source
}

// defaultMetric6 is the kernel's default metric of IPv6 routes (IP6_RT_PRIO_USER).
const defaultMetric6 = 1024

func routeSteps(g goal, live livestate.State) []step {
	var steps []step
	for _, r := range live.Routes {
		matches := func(pattern nmstate.Route) bool { return livestate.RouteMatches(pattern, r) }
		if slices.ContainsFunc(g.noRoutes, matches) && !wanted(r, g.routes) {
			steps = append(steps, step{action: removeRoute, route: r})
		}
	}
	// A gateway must be reachable before a route can use it: the longest prefixes first.
	routes := slices.SortedStableFunc(slices.Values(g.routes), func(a, b livestate.Route) int { return b.Destination.Bits() - a.Destination.Bits() })
	for _, r := range routes {
		// Add live routes, too: an earlier step may remove them with an address. Adding an existing route has no effect.
		steps = append(steps, step{action: addRoute, route: r})
	}
	return steps
}

func ruleSteps(g goal, live livestate.State) []step {
	var steps []step
	for _, r := range live.Rules {
		matches := func(p nmstate.RouteRule) bool { return livestate.RuleMatches(p, r) }
		if slices.Contains(g.dropRules, r) || slices.ContainsFunc(g.noRules, matches) {
			steps = append(steps, step{action: removeRule, rule: r})
		}
	}
	for _, r := range g.rules {
		if !slices.Contains(live.Rules, r) {
			steps = append(steps, step{action: addRule, rule: r})
		}
	}
	return steps
}

func dnsOf(g goal) livestate.DNS {
	if g.dns == nil {
		return livestate.DNS{}
	}
	return *g.dns
}

func sameDNS(a, b livestate.DNS) bool {
	return slices.Equal(a.Servers, b.Servers) && slices.Equal(a.Search, b.Search) && strings.Join(a.Options, " ") == strings.Join(b.Options, " ")
}
