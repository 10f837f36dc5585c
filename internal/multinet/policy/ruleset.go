package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
)

// Table is the name of the nftables table, of the family inet.
const Table = "multi_networkpolicy"

// Ruleset is the table of a pod. The zero value means no table.
type Ruleset struct{ Chains []Chain }

// Chain is an nftables chain with its rules. A chain with a hook is a base chain, with the policy accept: the table does not affect other interfaces,
// not even while it is replaced.
type Chain struct {
	Name string
	// Hook and Priority are those of a base chain.
	Hook     string
	Priority int
	Rules    []string
}

// Empty reports whether there are no rules.
func (r Ruleset) Empty() bool { return len(r.Chains) == 0 }

// Custom has the administrator's rules for each family, in nft syntax. They are evaluated before those of policies.
type Custom struct{ IPv4, IPv6 []string }

// direction has the nft keywords of a direction.
type direction struct {
	// name is the prefix of chain names; device and peer are the nft keywords for the interface and for the peer's address.
	name, device, peer string
	// local is the hook of the pod's own traffic.
	local string
	of    func(netpolicy.Policy) *netpolicy.Direction
}

var directions = []direction{
	{"ingress", "iifname", "saddr", "input", func(p netpolicy.Policy) *netpolicy.Direction { return p.Ingress }},
	{"egress", "oifname", "daddr", "output", func(p netpolicy.Policy) *netpolicy.Direction { return p.Egress }},
}

// always are the first rules of every isolated interface. Packets in the original direction of a connection are always checked, so that a policy also
// ends existing connections. Protocols are numbers, since nft reads most names from a file that not every image has. 1 and 58 are ICMP and ICMPv6.
var always = []string{
	"ct state established ct direction reply accept",
	"ct state related meta l4proto { 1, 58 } accept",
	"icmpv6 type { mld-listener-query, mld-listener-report, mld-listener-done, nd-router-solicit, nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, mld2-listener-report } accept",
}

// Rules returns the table of a pod, with the policies of each interface's network. views has a View for each network of the interfaces. Forwarded
// traffic is subject to the policies of both interfaces.
func Rules(views map[string]View, pod netpolicy.ID, interfaces []Interface, custom Custom) (Ruleset, error) {
	var base, chains []Chain
	for n, d := range directions {
		jumps := []string{}
		for i, iface := range interfaces {
			rules, isolated := views[iface.Network].rules(pod, d)
			if !isolated {
				continue
			}
			if err := iface.checkName(); err != nil {
				return Ruleset{}, err
			}
			name := fmt.Sprintf("%s_%d", d.name, i)
			jumps = append(jumps, fmt.Sprintf("%s %q jump %s", d.device, iface.Name, name))
			body := slices.Concat(always, custom.jumps(), rules, []string{"drop"})
			chains = append(chains, Chain{Name: name, Rules: body})
		}
		if len(jumps) > 0 {
			// The forward chains of the directions differ in priority, so that a packet must be accepted by both.
			base = append(base, Chain{Name: d.name + "_own", Hook: d.local, Rules: jumps}, Chain{Name: d.name + "_forwarded", Hook: "forward", Priority: n, Rules: jumps})
		}
	}
	if len(base) == 0 {
		return Ruleset{}, nil
	}
	return Ruleset{slices.Concat(custom.chains(), chains, base)}, nil
}

func (c Custom) jumps() (rules []string) {
	for _, chain := range c.chains() {
		rules = append(rules, fmt.Sprintf("meta nfproto %s jump %s", strings.TrimPrefix(chain.Name, customPrefix), chain.Name))
	}
	return rules
}

const customPrefix = "custom_"

func (c Custom) chains() (chains []Chain) {
	if len(c.IPv4) > 0 {
		chains = append(chains, Chain{Name: customPrefix + "ipv4", Rules: c.IPv4})
	}
	if len(c.IPv6) > 0 {
		chains = append(chains, Chain{Name: customPrefix + "ipv6", Rules: c.IPv6})
	}
	return chains
}

// rules returns the rules that allow traffic of a pod in a direction, and whether a policy isolates the pod in that direction.
func (v View) rules(pod netpolicy.ID, d direction) (rules []string, isolated bool) {
	for _, p := range v.result.Policies {
		one := d.of(p)
		if _, selected := slices.BinarySearchFunc(p.Pods, pod, netpolicy.ID.Compare); !selected || one == nil {
			continue
		}
		isolated = true
		for _, rule := range one.Rules {
			for _, text := range v.allow(pod, d, rule) {
				// Several policies may have the same rule.
				if !slices.Contains(rules, text) {
					rules = append(rules, text)
				}
			}
		}
	}
	return rules, isolated
}

// allow returns the nftables rules for a rule of a policy: one for each pair of peers and ports.
func (v View) allow(pod netpolicy.ID, d direction, rule netpolicy.Rule) (rules []string) {
	if rule.Ports == nil {
		for _, peers := range v.peers(d, rule.Peers) {
			rules = append(rules, join(peers, "accept"))
		}
		return rules
	}
	for _, port := range rule.Ports {
		text, known := portText(port)
		if !known {
			continue
		}
		peers := v.peers(d, rule.Peers)
		if port.Destinations != nil {
			peers = v.destinations(pod, d, rule.Peers, port.Destinations, peers)
		}
		for _, one := range peers {
			rules = append(rules, join(one, text, "accept"))
		}
	}
	return rules
}

// destinations returns the peers of a named port, which has this number on the pods named. For ingress, the pod itself must be one of them.
func (v View) destinations(pod netpolicy.ID, d direction, peers *netpolicy.Peers, named []netpolicy.ID, all []string) []string {
	if d.name == "ingress" {
		if slices.Contains(named, pod) {
			return all
		}
		return nil
	}
	var addresses []netip.Addr
	for _, id := range named {
		for _, a := range v.pods[id].Addresses {
			if peers == nil || slices.Contains(peers.Pods, id) || slices.ContainsFunc(peers.Blocks, func(b netpolicy.Block) bool { return b.Contains(a) }) {
				addresses = append(addresses, a)
			}
		}
	}
	return addressTexts(d, addresses)
}

// peers returns alternative conditions; the empty condition matches every peer.
func (v View) peers(d direction, peers *netpolicy.Peers) (conditions []string) {
	if peers == nil {
		return []string{""}
	}
	var addresses []netip.Addr
	for _, id := range peers.Pods {
		addresses = append(addresses, v.pods[id].Addresses...)
	}
	conditions = addressTexts(d, addresses)
	for _, b := range peers.Blocks {
		conditions = append(conditions, blockText(d, b))
	}
	return conditions
}

// addressTexts returns the conditions for addresses of both families.
func addressTexts(d direction, addresses []netip.Addr) (conditions []string) {
	for _, word := range []string{"ip", "ip6"} {
		var texts []string
		for _, a := range slices.SortedFunc(slices.Values(addresses), netip.Addr.Compare) {
			if familyWord(a) == word {
				texts = append(texts, a.String())
			}
		}
		if texts = slices.Compact(texts); len(texts) > 0 {
			conditions = append(conditions, fmt.Sprintf("%s %s { %s }", word, d.peer, strings.Join(texts, ", ")))
		}
	}
	return conditions
}

func blockText(d direction, b netpolicy.Block) string {
	word := familyWord(b.CIDR.Addr())
	var conditions []string
	if b.CIDR.Bits() == 0 {
		conditions = append(conditions, "meta nfproto "+map[string]string{"ip": "ipv4", "ip6": "ipv6"}[word])
	} else {
		conditions = append(conditions, fmt.Sprintf("%s %s %s", word, d.peer, b.CIDR))
	}
	if except := outermost(b.Except); len(except) > 0 {
		conditions = append(conditions, fmt.Sprintf("%s %s != { %s }", word, d.peer, strings.Join(except, ", ")))
	}
	return strings.Join(conditions, " ")
}

// outermost returns prefixes without those that other prefixes contain, since elements of a set must not overlap. The prefix of all addresses becomes
// two halves, since nft does not accept it in a set.
func outermost(prefixes []netip.Prefix) (texts []string) {
	for i, p := range prefixes {
		contained := func(other netip.Prefix) bool { return other.Contains(p.Addr()) && other.Bits() < p.Bits() }
		if slices.ContainsFunc(prefixes, contained) || slices.Contains(prefixes[:i], p) {
			continue
		}
		if p.Bits() == 0 && p.Addr().Is4() {
			texts = append(texts, "0.0.0.0/1", "128.0.0.0/1")
			continue
		}
		if p.Bits() == 0 {
			texts = append(texts, "::/1", "8000::/1")
			continue
		}
		texts = append(texts, p.String())
	}
	return texts
}

// portText returns the condition for ports. ok is false for a protocol without ports.
func portText(p netpolicy.Port) (text string, ok bool) {
	word, ok := map[corev1.Protocol]string{corev1.ProtocolTCP: "tcp", corev1.ProtocolUDP: "udp", corev1.ProtocolSCTP: "sctp"}[p.Protocol]
	switch {
	case p.First <= 1 && p.Last == 65535:
		return fmt.Sprintf("meta l4proto %d", map[string]int{"tcp": 6, "udp": 17, "sctp": 132}[word]), ok
	case p.First == p.Last:
		return fmt.Sprintf("%s dport %d", word, p.First), ok
	}
	return fmt.Sprintf("%s dport %d-%d", word, p.First, p.Last), ok
}

func familyWord(a netip.Addr) string {
	if a.Is4() {
		return "ip"
	}
	return "ip6"
}

func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// String returns the table in nft syntax.
func (r Ruleset) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", Table)
	for _, c := range r.Chains {
		fmt.Fprintf(&b, "\tchain %s {\n", c.Name)
		if c.Hook != "" {
			fmt.Fprintf(&b, "\t\ttype filter hook %s priority %d; policy accept;\n", c.Hook, c.Priority)
		}
		for _, rule := range c.Rules {
			fmt.Fprintf(&b, "\t\t%s\n", rule)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// CustomRules reads the administrator's rules, one per line; lines that begin with # are comments. It keeps the rules that accept accepts, and removes
// counters, which would change the table with each packet.
func CustomRules(text string, accept func(rule string) bool) (rules []string) {
	for line := range strings.Lines(text) {
		words := slices.DeleteFunc(strings.Fields(line), func(w string) bool { return w == "counter" })
		rule := strings.Join(words, " ")
		if rule != "" && !strings.HasPrefix(rule, "#") && accept(rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}
