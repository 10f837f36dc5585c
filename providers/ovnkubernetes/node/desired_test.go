package node

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

func TestDesiredManagement(t *testing.T) {
	destinations := prefixes("10.128.0.0/14", "fd01::/48", "172.30.0.0/16", "fd02::/112")
	for _, row := range []struct {
		why       string
		blocks    []netip.Prefix
		mac       string
		addresses []netip.Prefix
		routes    map[string]string
	}{
		{"IPv4", prefixes("10.128.2.0/23"), "0a:58:0a:80:02:02", prefixes("10.128.2.2/23"), map[string]string{"10.128.0.0/14": "10.128.2.1", "172.30.0.0/16": "10.128.2.1"}},
		{"both families: the hardware address is that of the first, as the master computes it", prefixes("10.128.2.0/23", "fd01:0:0:2::/64"), "0a:58:0a:80:02:02",
			prefixes("10.128.2.2/23", "fd01:0:0:2::2/64"), map[string]string{
				"10.128.0.0/14": "10.128.2.1", "172.30.0.0/16": "10.128.2.1", "fd01::/48": "fd01:0:0:2::1", "fd02::/112": "fd01:0:0:2::1",
			}},
		{"IPv6 alone, and what stays when IPv4 is added as the second family", prefixes("fd01:0:0:2::/64"), topology.MAC(netip.MustParseAddr("fd01:0:0:2::2")).String(), prefixes("fd01:0:0:2::2/64"),
			map[string]string{"fd01::/48": "fd01:0:0:2::1", "fd02::/112": "fd01:0:0:2::1"}},
		{"IPv6 first", prefixes("fd01:0:0:2::/64", "10.128.2.0/23"), topology.MAC(netip.MustParseAddr("fd01:0:0:2::2")).String(), prefixes("fd01:0:0:2::2/64", "10.128.2.2/23"), map[string]string{
			"10.128.0.0/14": "10.128.2.1", "172.30.0.0/16": "10.128.2.1", "fd01::/48": "fd01:0:0:2::1", "fd02::/112": "fd01:0:0:2::1",
		}},
	} {
		m := desiredManagement(row.blocks, destinations, mtumigration.State{MTU: 1400})
		routes := map[string]string{}
		for to, via := range m.routes {
			routes[to.String()] = via.String()
		}
		if m.mac.String() != row.mac || m.mtu.MTU != 1400 || !slices.Equal(m.addresses, row.addresses) || cmp.Diff(row.routes, routes) != "" {
			t.Errorf("%s: %s %v %v", row.why, m.mac, m.addresses, routes)
		}
	}
}

func TestDesiredTraffic(t *testing.T) {
	for _, row := range []struct {
		why             string
		cluster, blocks []netip.Prefix
		want            traffic
	}{
		{"IPv4 alone: a table of IPv6 that an earlier configuration left is removed", prefixes("10.128.0.0/14", "10.132.0.0/14"), prefixes("10.128.2.0/23"), traffic{
			knftables.IPv4Family: {
				"oifname ovn-k8s-mp0 ip saddr != { 10.128.0.0/14, 10.132.0.0/14 } ip daddr != { 10.128.2.0/23 } masquerade",
				"oifname != ovn-k8s-mp0 ip saddr { 10.128.0.0/14, 10.132.0.0/14 } ip daddr != { 10.128.0.0/14, 10.132.0.0/14 } masquerade",
			},
			knftables.IPv6Family: nil,
		}},
		{"IPv6 alone", prefixes("fd01::/48"), prefixes("fd01:0:0:2::/64"), traffic{
			knftables.IPv4Family: nil,
			knftables.IPv6Family: {
				"oifname ovn-k8s-mp0 ip6 saddr != { fd01::/48 } ip6 daddr != { fd01:0:0:2::/64 } masquerade",
				"oifname != ovn-k8s-mp0 ip6 saddr { fd01::/48 } ip6 daddr != { fd01::/48 } masquerade",
			},
		}},
		{"dual stack", prefixes("10.128.0.0/14", "fd01::/48"), prefixes("10.128.2.0/23", "fd01:0:0:2::/64"), traffic{
			knftables.IPv4Family: {
				"oifname ovn-k8s-mp0 ip saddr != { 10.128.0.0/14 } ip daddr != { 10.128.2.0/23 } masquerade",
				"oifname != ovn-k8s-mp0 ip saddr { 10.128.0.0/14 } ip daddr != { 10.128.0.0/14 } masquerade",
			},
			knftables.IPv6Family: {
				"oifname ovn-k8s-mp0 ip6 saddr != { fd01::/48 } ip6 daddr != { fd01:0:0:2::/64 } masquerade",
				"oifname != ovn-k8s-mp0 ip6 saddr { fd01::/48 } ip6 daddr != { fd01::/48 } masquerade",
			},
		}},
	} {
		if diff := cmp.Diff(row.want, desiredTraffic(row.cluster, row.blocks)); diff != "" {
			t.Errorf("%s:\n%s", row.why, diff)
		}
	}
}

func TestRuleForRecordsOfFlows(t *testing.T) {
	collectors := []netip.AddrPort{netip.MustParseAddrPort("192.0.2.11:6343"), netip.MustParseAddrPort("192.0.2.10:2055"), netip.MustParseAddrPort("192.0.2.10:2055")}
	const want = "ip saddr 169.254.100.1 ip daddr . udp dport { 192.0.2.10 . 2055, 192.0.2.11 . 6343 } masquerade"
	if got := exportRule(netip.MustParseAddr("169.254.100.1"), collectors); got != want {
		t.Errorf("the rule is %q", got)
	}
	d := &daemonState{userspace: true}
	if got := d.withExport(traffic{}, nil); len(got[knftables.IPv4Family]) != 0 {
		t.Errorf("without collectors there are rules: %v", got)
	}
	if got := d.withExport(traffic{}, collectors); !slices.Equal(got[knftables.IPv4Family], []string{want}) {
		t.Errorf("the rules are %v", got)
	}
	d.userspace = false
	if got := d.withExport(traffic{}, collectors); len(got[knftables.IPv4Family]) != 0 {
		t.Errorf("with the kernel's datapath there are rules: %v", got)
	}
}
