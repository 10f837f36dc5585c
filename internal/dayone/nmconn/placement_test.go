package nmconn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keysOf returns the lines of a section that begin with one of some prefixes.
func keysOf(t *testing.T, doc, file, section string, prefixes ...string) (out []string) {
	t.Helper()
	lines, _ := sectionOf(t, doc, file, section)
	for _, l := range lines {
		for _, p := range prefixes {
			if strings.HasPrefix(l, p) {
				out = append(out, l)
			}
		}
	}
	return out
}

// hosts with static addresses on a, automatic ones on b, and none on c.
const threeCards = `interfaces:
- {name: c, type: ethernet, ipv4: {enabled: false}}
- {name: b, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-route-table-id: 300}, ipv6: {enabled: true, dhcp: true, autoconf: true}}
- {name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.2, prefix-length: 24}]}, ipv6: {enabled: true, address: [{ip: '2001:db8::2', prefix-length: 64}]}}
`

func TestRoutesBelongToTheirInterface(t *testing.T) {
	doc := threeCards + `routes:
  config:
  - {destination: 198.51.100.1, next-hop-interface: a, metric: 5}
  - {destination: 198.51.100.1/32, next-hop-interface: a, metric: 9}
  - {destination: '2001:DB8:1::/48', next-hop-interface: a, next-hop-address: '2001:DB8::1', table-id: 0}
  - {destination: 10.0.0.0/8, next-hop-interface: b, next-hop-address: 192.0.2.1, metric: -1}
  - {destination: 10.9.0.0/16, next-hop-interface: lo, route-type: prohibit, table-id: 7}
  - {destination: 'fd00::/8', route-type: unreachable}
`
	for _, c := range []struct {
		why, file, section string
		want               []string
	}{
		{"an address is a network of one; the same route again is dropped", "a", "ipv4", []string{"route0=198.51.100.1/32,,5", "route0_options=table=254"}},
		{"the main table may be called 0", "a", "ipv6", []string{"route0=2001:db8:1::/48,2001:db8::1,0", "route0_options=table=254"}},
		{"beside DHCP", "b", "ipv4", []string{"route0=10.0.0.0/8,192.0.2.1,0", "route0_options=table=254"}},
		{"routes that lead nowhere are of lo", "lo", "ipv4", []string{"route0=10.9.0.0/16,,0", "route0_options=table=7,type=prohibit"}},
		{"in both families", "lo", "ipv6", []string{"route0=fd00::/8,,0", "route0_options=table=254,type=unreachable"}},
	} {
		if diff := cmp.Diff(c.want, keysOf(t, doc, c.file, c.section, "route0", "route1")); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestRoutesOfADeclaredLoopbackAreReal(t *testing.T) {
	doc := "interfaces: [{name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 32}]}}]\nroutes: {config: [{destination: 10.0.0.0/8, route-type: blackhole}, {destination: 'fd00::/8', route-type: blackhole}]}\n"
	if diff := cmp.Diff([]string{"address0=192.0.2.9/32", "method=manual", "route0=10.0.0.0/8,,0"}, keysOf(t, doc, "lo", "ipv4", "address", "method", "route0=")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"address0=::1/128", "method=manual", "route0=fd00::/8,,0"}, keysOf(t, doc, "lo", "ipv6", "address", "method", "route0=")); diff != "" {
		t.Errorf("a family that is off would hold no route:\n%s", diff)
	}
}

func TestRulesGoWhereTheirTableIs(t *testing.T) {
	for _, c := range []struct{ why, rule, file, section, want string }{
		{"where the table's routes are", "{ip-from: 192.0.2.0/24, route-table: 200}", "a", "ipv4", "routing-rule0=priority_30000_from_192.0.2.0/24_table_200"},
		{"where DHCP fills the table", "{ip-to: 192.0.2.7, route-table: 300, priority: 40000}", "b", "ipv4", "routing-rule0=priority_40000_to_192.0.2.7/32_table_300"},
		{"without a table, where the main one is filled, whichever comes first in the document", "{ip-from: 192.0.2.0/24}", "a", "ipv4", "routing-rule0=priority_30000_from_192.0.2.0/24_table_254"},
		{"the same for what is not to be forwarded", "{ip-from: 192.0.2.0/24, action: prohibit}", "a", "ipv4", "routing-rule0=priority_30000_from_192.0.2.0/24_type_prohibit_table_254"},
		{"table 0 is written as the main one, and is no one's", "{ip-from: 192.0.2.0/24, route-table: 0}", "b", "ipv4", "routing-rule0=priority_30000_from_192.0.2.0/24_table_254"},
		{"to the first with the family, for a table no one fills", "{family: ipv6, route-table: 900, fwmark: 16}", "b", "ipv6", "routing-rule0=priority_30000_from_::/0_table_900_fwmark_16"},
		{"to the interface the packets come from", "{ip-from: 10.0.0.0/8, iif: b, action: blackhole}", "b", "ipv4", "routing-rule0=priority_30000_from_10.0.0.0/8_iif_b_type_blackhole_table_254"},
		{"with host bits cleared, and both ends", "{ip-from: 10.1.2.3/8, ip-to: '10.9.9.9/16', route-table: 200, suppress-prefix-length: 1}", "a", "ipv4", "routing-rule0=priority_30000_to_10.9.0.0/16_from_10.0.0.0/8_suppress_prefixlength_1_table_200"},
	} {
		doc := threeCards + "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a, table-id: 200}]}\nroute-rules: {config: [" + c.rule + ", {state: absent, route-table: 5}]}\n"
		if diff := cmp.Diff([]string{c.want}, keysOf(t, doc, c.file, c.section, "routing-rule")); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
	lone := "interfaces: [{name: a, type: ethernet}]\nroute-rules: {config: [{ip-from: 10.0.0.0/8, action: prohibit}]}\n"
	if got := keysOf(t, lone, "lo", "ipv4", "routing-rule", "address"); len(got) != 2 {
		t.Errorf("a rule without any interface for it is of lo: %q", got)
	}
}

func TestPrioritiesCountUpFromTheHighestGiven(t *testing.T) {
	doc := threeCards + "route-rules: {config: [{family: ipv4, priority: -1}, {family: ipv4, priority: 31000}, {family: ipv4}]}\n"
	got := strings.Join(keysOf(t, doc, "a", "ipv4", "routing-rule"), " ")
	if want := "routing-rule0=priority_31001_from_0.0.0.0/0_table_254 routing-rule1=priority_31000_from_0.0.0.0/0_table_254 routing-rule2=priority_31002_from_0.0.0.0/0_table_254"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestNameServersFindAnInterfaceOfTheirFamily(t *testing.T) {
	for _, c := range []struct {
		why, interfaces, dns, file, section string
		want                                []string
	}{
		{"static addresses before automatic ones", threeCards, "{server: [192.0.2.53], search: [x.example], options: [trust-ad, 'timeout:3']}", "a", "ipv4", []string{"dns=192.0.2.53", "dns-options=trust-ad;timeout:3", "dns-priority=40", "dns-search=x.example"}},
		{"the other family is asked second, and searches nothing", threeCards, "{server: ['2001:db8::53', 192.0.2.53, 192.0.2.54], search: [x.example]}", "a", "ipv4", []string{"dns=192.0.2.53;192.0.2.54", "dns-priority=50"}},
		{"DHCP that brings no servers counts as static", "interfaces:\n- {name: z, type: ethernet, ipv4: {enabled: true, dhcp: true, auto-dns: false}}\n- {name: y, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.2, prefix-length: 24}]}}\n", "{server: [192.0.2.53]}", "z", "ipv4", []string{"dns=192.0.2.53", "dns-priority=40"}},
		{"and otherwise any", "interfaces:\n- {name: z, type: ethernet, ipv4: {enabled: true, dhcp: true}}\n", "{server: [192.0.2.53]}", "z", "ipv4", []string{"dns=192.0.2.53", "dns-priority=40"}},
		{"a link-local server names the interface", threeCards, "{server: ['fe80::53%b']}", "b", "ipv6", []string{"dns=fe80::53", "dns-priority=40"}},
		{"searches alone go to an automatic interface, IPv6 first", threeCards, "{search: [x.example]}", "b", "ipv6", []string{"dns-priority=40", "dns-search=x.example"}},
		{"or to any", "interfaces:\n- {name: z, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.2, prefix-length: 24}]}}\n", "{options: [rotate]}", "z", "ipv4", []string{"dns-options=rotate", "dns-priority=40"}},
		{"not to an interface that is down", "interfaces:\n- {name: y, type: ethernet, state: down, ipv4: {enabled: true, address: [{ip: 192.0.2.2, prefix-length: 24}]}}\n- {name: z, type: ethernet, ipv4: {enabled: true, dhcp: true}}\n", "{server: [192.0.2.53]}", "z", "ipv4", []string{"dns=192.0.2.53", "dns-priority=40"}},
		{"nothing is nothing", threeCards, "{}", "a", "ipv4", nil},
	} {
		doc := c.interfaces + "dns-resolver: {config: " + c.dns + "}\n"
		if diff := cmp.Diff(c.want, keysOf(t, doc, c.file, c.section, "dns")); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}
