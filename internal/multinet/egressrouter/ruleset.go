package egressrouter

import (
	"fmt"
	"net/netip"
	"strings"
)

// Ruleset is a table of nftables, of the family inet.
type Ruleset struct {
	Table  string
	Chains []Chain
}

// Chain is a base chain.
type Chain struct {
	Name string
	// Type, Hook and Priority are as nft has them.
	Type, Hook string
	Priority   int
	// Rules are in order. The policy is accept.
	Rules []Rule
}

// Rule is an action for packets that meet all conditions. A zero value is no condition.
type Rule struct {
	In, Out string
	Family  Family
	// Local requires that the destination is an address of the pod.
	Local bool
	// New requires that the packet opens a connection; Known that it belongs to a connection, or reports an error of one.
	New, Known bool
	// Reply requires the direction opposite to the one in which the connection was opened.
	Reply bool
	// Redirected requires that a rule has changed the destination of the connection.
	Redirected bool
	To         netip.Addr
	// ICMPv6 is a message type.
	ICMPv6   uint8
	Protocol Protocol
	// Port is the destination's; it needs Protocol.
	Port uint16
	Then Action
	// Address and its port are for the actions Redirect and Source. Port 0 leaves the port as it is.
	Address netip.AddrPort
}

// Action is an action on a packet or its connection.
type Action string

// The actions.
const (
	Accept Action = "accept"
	Drop   Action = "drop"
	// Reject refuses with an ICMP message.
	Reject Action = "reject with icmpx admin-prohibited"
	// Reset refuses a TCP connection.
	Reset Action = "reject with tcp reset"
	// MarkConnection gives the connection the mark, and UseMark gives the packet that of its connection.
	MarkConnection Action = "ct mark set 0x00000001"
	UseMark        Action = "meta mark set ct mark"
	// Redirect changes the destination, Source the source.
	Redirect Action = "dnat"
	Source   Action = "snat"
)

// The ICMPv6 messages that a link needs: multicast listener queries and neighbor discovery, without router advertisements.
const (
	listenerQuery         = 130
	neighborSolicitation  = 135
	neighborAdvertisement = 136
)

// TableOf returns the name of the table of a family.
func TableOf(f Family) string { return "egress_router_" + strings.ToLower(string(f)) }

// Rules returns the table of an attachment whose interface is link.
func Rules(c *Conf, link string) Ruleset {
	f := c.Family()
	return Ruleset{Table: TableOf(f), Chains: []Chain{
		// Replies to clients leave by the interface on which the client's connection came in, regardless of the client's address. The connection is marked,
		// and marked packets have a separate routing table.
		{Name: "mark_clients", Type: "filter", Hook: "prerouting", Priority: -150, Rules: []Rule{
			{In: ClientInterface, Family: f, New: true, Then: MarkConnection},
			{In: link, Family: f, Reply: true, Then: UseMark},
		}},
		{Name: "mark_answers", Type: "route", Hook: "output", Priority: -150, Rules: []Rule{{Family: f, Reply: true, Then: UseMark}}},
		{Name: "redirect_clients", Type: "nat", Hook: "prerouting", Priority: -100, Rules: redirects(c)},
		{Name: "forwarded", Type: "filter", Hook: "forward", Rules: []Rule{
			{Family: f, Known: true, Then: Accept},
			{In: ClientInterface, Out: link, Family: f, Redirected: true, Then: Accept},
			{Family: f, Then: Drop},
			// This interface carries no packets of the other family.
			{In: link, Then: Drop},
			{Out: link, Then: Drop},
		}},
		{Name: "from_outside", Type: "filter", Hook: "input", Rules: inputs(f, link)},
		{Name: "own_container", Type: "filter", Hook: "output", Rules: outputs(c, link)},
		{Name: "source_address", Type: "nat", Hook: "postrouting", Priority: 100, Rules: []Rule{
			{Out: link, Family: f, Then: Source, Address: netip.AddrPortFrom(c.Address.Addr(), 0)},
		}},
	}}
}

func redirects(c *Conf) (rules []Rule) {
	for _, d := range c.Destinations {
		rule := Rule{In: ClientInterface, Family: c.Family(), Local: true, Protocol: d.Protocol, Port: d.Port, Then: Redirect,
			Address: netip.AddrPortFrom(d.Address, d.TargetPort)}
		if !d.All() {
			rules = append(rules, rule)
			continue
		}
		for _, rule.Protocol = range protocols() {
			rules = append(rules, rule)
		}
	}
	return rules
}

// inputs returns rules that accept only packets of connections that the pod opened.
func inputs(f Family, link string) []Rule {
	rules := []Rule{{In: link, Family: f, Known: true, Then: Accept}}
	if f == IPv6 {
		for _, message := range []uint8{listenerQuery, neighborSolicitation, neighborAdvertisement} {
			rules = append(rules, Rule{In: link, Family: IPv6, ICMPv6: message, Then: Accept})
		}
	}
	return append(rules, Rule{In: link, Then: Drop})
}

// listenerReport reports to switches which multicast groups the pod listens to.
const listenerReport = 143

// outputs returns rules that allow the pod's own processes to connect to the destinations only.
func outputs(c *Conf, link string) []Rule {
	rules := []Rule{{Out: link, Family: c.Family(), Known: true, Then: Accept}}
	if c.Family() == IPv6 {
		for _, message := range []uint8{neighborSolicitation, neighborAdvertisement, listenerReport} {
			rules = append(rules, Rule{Out: link, Family: IPv6, ICMPv6: message, Then: Accept})
		}
	}
	for _, d := range c.Destinations {
		rules = append(rules, Rule{Out: link, Family: c.Family(), To: d.Address, Protocol: d.Protocol, Port: d.TargetPort, Then: Accept})
	}
	return append(rules, Rule{Out: link, Protocol: TCP, Then: Reset}, Rule{Out: link, Then: Reject})
}

// String returns the table as nft prints it.
func (r Ruleset) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", r.Table)
	for i, c := range r.Chains {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "\tchain %s {\n\t\ttype %s hook %s priority %s; policy accept;\n", c.Name, c.Type, c.Hook, priority(c.Priority))
		for _, rule := range c.Rules {
			fmt.Fprintf(&b, "\t\t%s\n", rule)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func priority(n int) string {
	return map[int]string{-150: "mangle", -100: "dstnat", 0: "filter", 100: "srcnat"}[n]
}

// String returns the rule as nft prints it.
func (r Rule) String() string {
	var words []string
	add := func(condition bool, format string, args ...any) {
		if condition {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(r.In != "", "iifname %q", r.In)
	add(r.Out != "", "oifname %q", r.Out)
	// nft does not print a family that another condition implies.
	add(r.Family != "" && !r.To.IsValid() && r.ICMPv6 == 0, "meta nfproto %s", strings.ToLower(string(r.Family)))
	add(r.Local, "fib daddr type local")
	add(r.New, "ct state new")
	add(r.Known, "ct state established,related")
	add(r.Reply, "ct direction reply")
	add(r.Redirected, "ct status dnat")
	add(r.To.IsValid(), "%s daddr %s", ipWord(r.To), r.To)
	add(r.ICMPv6 != 0, "icmpv6 type %s", icmpv6Words[r.ICMPv6])
	add(r.Protocol != "" && r.Port == 0, "meta l4proto %s", r.Protocol)
	add(r.Port != 0, "%s dport %d", r.Protocol, r.Port)
	switch {
	case r.Then != Redirect && r.Then != Source:
		words = append(words, string(r.Then))
	case r.Address.Port() == 0:
		words = append(words, fmt.Sprintf("%s %s to %s", r.Then, ipWord(r.Address.Addr()), r.Address.Addr()))
	default:
		words = append(words, fmt.Sprintf("%s %s to %s", r.Then, ipWord(r.Address.Addr()), r.Address))
	}
	return strings.Join(words, " ")
}

var icmpv6Words = map[uint8]string{
	listenerQuery: "mld-listener-query", listenerReport: "mld2-listener-report", neighborSolicitation: "nd-neighbor-solicit", neighborAdvertisement: "nd-neighbor-advert",
}

func ipWord(a netip.Addr) string {
	if a.Is4() {
		return "ip"
	}
	return "ip6"
}
