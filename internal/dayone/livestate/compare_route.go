package livestate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (c *comparison) routes() {
	c.subject = "route"
	if c.doc.Routes == nil {
		return
	}
	for _, want := range c.doc.Routes.Config {
		found := slices.ContainsFunc(c.live.Routes, func(existing Route) bool { return RouteMatches(want, existing) })
		switch {
		case want.State == "ignore":
		case want.Absent() && found:
			c.differ(describeRoute(want), "absent", "present")
		case !want.Absent() && !found:
			c.differ(describeRoute(want), "present", "absent")
		}
	}
}

// RouteMatches reports whether a live route matches a document's route. Omitted fields match any value. An absent route never matches a route of the kernel
// itself.
func RouteMatches(want nmstate.Route, existing Route) bool {
	if want.Absent() && existing.Protocol == "kernel" {
		return false
	}
	if want.Destination != "" {
		destination, err := Destination(want.Destination)
		if err != nil || destination != existing.Destination {
			return false
		}
	}
	table := MainTable
	if want.TableID != nil && *want.TableID != 0 {
		table = int(*want.TableID)
	}
	via, _ := netip.ParseAddr(want.NextHopAddress)
	source, _ := netip.ParseAddr(want.Source)
	switch {
	case table != existing.Table && (!want.Absent() || want.TableID != nil),
		want.NextHopInterface != "" && want.NextHopInterface != existing.Interface,
		via.IsValid() && !via.IsUnspecified() && via != existing.Via,
		want.Metric != nil && *want.Metric > 0 && int(*want.Metric) != existing.Metric,
		source.IsValid() && source != existing.Source:
		return false
	}
	return want.Absent() && want.RouteType == "" || string(want.RouteType) == existing.Type
}

// Destination parses the destination of a document's route: a prefix, with or without host bits, or an address.
func Destination(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	return prefix.Masked(), err
}

func describeRoute(r nmstate.Route) string {
	text := orNone(r.Destination)
	if r.NextHopAddress != "" {
		text += " via " + r.NextHopAddress
	}
	if r.NextHopInterface != "" {
		text += " on " + r.NextHopInterface
	}
	return text
}

func (c *comparison) rules() {
	c.subject = "rule"
	if c.doc.RouteRules == nil {
		return
	}
	for _, want := range c.doc.RouteRules.Config {
		found := slices.ContainsFunc(c.live.Rules, func(existing Rule) bool { return RuleMatches(want, existing) })
		if found == want.Absent() {
			c.differ(describeRule(want), presence(!want.Absent()), presence(found))
		}
	}
}

func presence(exists bool) string {
	if exists {
		return "present"
	}
	return "absent"
}

// RuleMatches reports whether a live rule matches a document's rule.
func RuleMatches(want nmstate.RouteRule, existing Rule) bool {
	if RuleFamily(want) != existing.Family && (want.Family != "" || want.IPFrom != "" || want.IPTo != "") {
		return false
	}
	from, _ := Destination(want.IPFrom)
	to, _ := Destination(want.IPTo)
	table := MainTable
	if want.RouteTable != nil && *want.RouteTable != 0 {
		table = int(*want.RouteTable)
	}
	switch {
	case !want.Absent() && !samePrefix(from, existing.From), want.IPFrom != "" && !samePrefix(from, existing.From),
		!want.Absent() && !samePrefix(to, existing.To), want.IPTo != "" && !samePrefix(to, existing.To),
		want.Priority != nil && *want.Priority >= 0 && int(*want.Priority) != existing.Priority,
		want.Action == "" && want.RouteTable != nil && table != existing.Table,
		want.FWMark != nil && *want.FWMark != existing.Mark,
		want.IIF != "" && want.IIF != existing.Interface,
		string(want.Action) != existing.Action && (!want.Absent() || want.Action != ""):
		return false
	}
	return want.SuppressPrefixLength == nil || int(*want.SuppressPrefixLength) == existing.SuppressPrefixLength
}

// RuleFamily returns 4 or 6.
func RuleFamily(r nmstate.RouteRule) int {
	if r.Family == "ipv6" || strings.Contains(r.IPFrom+r.IPTo, ":") {
		return 6
	}
	return 4
}

// samePrefix compares prefixes; a prefix of all addresses is equal to none.
func samePrefix(a, b netip.Prefix) bool {
	if a.IsValid() && a.Bits() == 0 {
		a = netip.Prefix{}
	}
	if b.IsValid() && b.Bits() == 0 {
		b = netip.Prefix{}
	}
	return a == b
}

func describeRule(r nmstate.RouteRule) string {
	text := fmt.Sprintf("from %s to %s", orAll(r.IPFrom), orAll(r.IPTo))
	if r.RouteTable != nil {
		text += fmt.Sprintf(" table %d", *r.RouteTable)
	}
	return text
}

func orAll(s string) string {
	if s == "" {
		return "all"
	}
	return s
}

func (c *comparison) dns() {
	c.subject = "dns"
	if c.doc.DNS == nil || c.doc.DNS.Config == nil {
		return
	}
	want := c.doc.DNS.Config
	c.contains("server", want.Server, c.live.DNS.Servers)
	c.contains("search", want.Search, c.live.DNS.Search)
	c.contains("options", want.Options, c.live.DNS.Options)
}

// contains requires all elements of a list in this order. The live list may have more, from a lease.
func (c *comparison) contains(aspect string, want, existing []string) {
	rest := existing
	for _, w := range want {
		i := slices.Index(rest, w)
		if i < 0 {
			c.differ(aspect, strings.Join(want, " "), strings.Join(existing, " "))
			return
		}
		rest = rest[i+1:]
	}
}
