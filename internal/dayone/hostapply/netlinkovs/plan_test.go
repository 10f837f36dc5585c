package netlinkovs

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func parse(t *testing.T, text string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return doc
}

// card is a host whose card has an address, and whose bridge was just made.
func card() livestate.State {
	return livestate.State{
		Links: []livestate.Link{
			{Name: "enp2s0", Kind: "ethernet", MAC: cardMAC, Up: true, MTU: 1500, Driver: vmxnet3, Addresses: []livestate.Address{
				{Prefix: netip.MustParsePrefix("192.168.111.110/24")}, {Prefix: netip.MustParsePrefix("fe80::1/64")},
			}},
			{Name: "br-ex", Kind: "tun", MAC: cardMAC, MTU: 1500},
		},
		Routes: []livestate.Route{
			{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr(routerIP), Interface: "enp2s0", Table: livestate.MainTable, Protocol: "boot"},
			{Destination: netip.MustParsePrefix("192.168.111.0/24"), Interface: "enp2s0", Table: livestate.MainTable, Protocol: "kernel"},
		},
		DNS: livestate.DNS{Servers: []string{"192.0.2.53"}},
	}
}

func lines(steps []step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.String())
	}
	return out
}

// TestAddressLeavesTheCardBeforeItComesToTheBridge pins the order: it is what keeps a host reachable.
func TestAddressLeavesTheCardBeforeItComesToTheBridge(t *testing.T) {
	doc, err := livestate.Concrete(parse(t, bridgeOverCard), card())
	if err != nil {
		t.Fatal(err)
	}
	g := goalOf(doc, "master-0")
	if diff := cmp.Diff([]string{"change open vswitch +br-ex"}, lines(planLinks(g, card()))); diff != "" {
		t.Error(diff)
	}
	steps, err := planConfig(g, card())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"set sysctl enp2s0 disable_ipv6=1",
		"set allmulticast enp2s0", // vmxnet3
		"set sysctl br-ex disable_ipv6=1",
		"set up br-ex",
		"remove route 0.0.0.0/0 via 192.168.111.1 dev enp2s0",
		"remove address enp2s0 192.168.111.110/24",
		"add address br-ex 192.168.111.110/24",
		"set dns [192.168.111.1]",
		"add route 0.0.0.0/0 via 192.168.111.1 dev br-ex",
	}
	if diff := cmp.Diff(want, lines(steps)); diff != "" {
		t.Error(diff)
	}
}

func TestPlanOfEveryKindOfLink(t *testing.T) {
	live := card()
	doc := parse(t, `
interfaces:
- {name: v7, type: vlan, vlan: {id: 7, base-iface: bond0}, mtu: 1400}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, options: {miimon: 100}, port: [enp2s0]}}
- {name: x9, type: vxlan, vxlan: {id: 9, base-iface: v7, remote: 192.0.2.1}}
- {name: pair0, type: veth, veth: {peer: pair1}}
- {name: pair1, type: veth, veth: {peer: pair0}}
- {name: br-ex, type: linux-bridge, state: absent}
- {name: m0, type: mac-vlan, mac-vlan: {base-iface: enp2s0, mode: bridge}}
- {name: red, type: vrf, vrf: {port: [v7], route-table-id: 100}}
`)
	got := lines(planLinks(goalOf(doc, ""), live))
	want := []string{
		"delete link br-ex", "create link bond0 (bond)", "create link pair0 (veth)", "create link red (vrf)",
		"create link v7 (vlan)", "create link m0 (mac-vlan)", "create link x9 (vxlan)", "change open vswitch",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	live.Links = append(live.Links, livestate.Link{Name: "bond0", Kind: "bond"}, livestate.Link{Name: "v7", Kind: "vlan", MTU: 1500}, livestate.Link{Name: "x9"},
		livestate.Link{Name: "pair0"}, livestate.Link{Name: "pair1"}, livestate.Link{Name: "m0"}, livestate.Link{Name: "red"})
	steps, err := planConfig(goalOf(doc, ""), live)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines(steps), "\n")
	for _, part := range []string{
		"set down enp2s0\nset controller enp2s0 bond0\nset up enp2s0", // a bond takes no port that is up
		"set controller v7 red\nset mtu v7 1400\nset up v7",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no\n%s\nin\n%s", part, text)
		}
	}
}

// TestABondAgreesWithItsSwitchBeforeTheBridgeTakesItsAddresses has a bond of mode 802.3ad below br-ex: a lease asked for, or a gateway probed,
// before its switch takes its ports is lost.
func TestABondAgreesWithItsSwitchBeforeTheBridgeTakesItsAddresses(t *testing.T) {
	live := card()
	live.Links[0].Name, live.Links[0].Kind, live.Links[0].Bond = "bond0", "bond", &livestate.Bond{Mode: "802.3ad"}
	live.Links = append(live.Links, livestate.Link{Name: "p1", Kind: "ethernet", Up: true})
	steps, err := planConfig(goalOf(parse(t, `
interfaces:
- {name: bond0, type: bond, link-aggregation: {mode: 802.3ad, port: [p1]}, ipv4: {enabled: false}}
- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: bond0}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, ipv4: {enabled: true, dhcp: true}}
`), ""), live)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(lines(steps), "\n")
	last := -1
	for _, part := range []string{"set controller p1 bond0\nset up p1", "await lacp bond0", "remove address bond0", "get lease br-ex"} {
		at := strings.Index(text, part)
		if at <= last {
			t.Errorf("%q is not in its place in\n%s", part, text)
		}
		last = at
	}
}

func TestWhatComesByItselfIsNotTakenAway(t *testing.T) {
	live := card()
	live.Links[0].Addresses = []livestate.Address{
		{Prefix: netip.MustParsePrefix("192.168.111.20/24"), Dynamic: true}, {Prefix: netip.MustParsePrefix("2001:db8::5/64"), Dynamic: true},
		{Prefix: netip.MustParsePrefix("192.0.2.7/32")},
	}
	live.Routes = []livestate.Route{
		{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr(routerIP), Interface: "enp2s0", Table: livestate.MainTable, Protocol: "dhcp"},
		{Destination: netip.MustParsePrefix("::/0"), Via: netip.MustParseAddr("fe80::2"), Interface: "enp2s0", Table: livestate.MainTable, Protocol: "ra"},
		{Destination: netip.MustParsePrefix("203.0.113.0/24"), Via: netip.MustParseAddr(routerIP), Interface: "enp2s0", Table: livestate.MainTable, Protocol: "static"},
	}
	doc := parse(t, `{interfaces: [{name: enp2s0, type: ethernet, ipv4: {enabled: true, dhcp: true, dhcp-custom-hostname: me}, ipv6: {enabled: true, dhcp: true, autoconf: true, auto-route-metric: 48}}]}`)
	steps, err := planConfig(goalOf(doc, "master-0"), live)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"set sysctl enp2s0 accept_ra=2", "set sysctl enp2s0 autoconf=1", "set sysctl enp2s0 disable_ipv6=0", "set sysctl enp2s0 ra_defrtr_metric=48",
		"remove route 203.0.113.0/24 via 192.168.111.1 dev enp2s0", "remove address enp2s0 192.0.2.7/32", "get lease enp2s0",
	}
	if diff := cmp.Diff(want, lines(steps)); diff != "" {
		t.Error(diff)
	}
	if last := steps[len(steps)-1]; last.lease.Hostname != "me" {
		t.Errorf("the name sent is %q", last.lease.Hostname)
	}
}

func TestBondIsMadeWithItsOptions(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: b0, type: bond, link-aggregation: {mode: active-backup, options: {arp_interval: 100, arp_ip_target: "192.0.2.1,192.0.2.2", primary_reselect: failure, updelay: 0, fail_over_mac: follow}}}
`)
	link, err := kernelBond(&livestate.Bond{Mode: "active-backup", Options: bondOptionsOf(doc.Interfaces[0].Bond.Options)}, netlink.NewLinkAttrs())
	if err != nil {
		t.Fatal(err)
	}
	bond := link.(*netlink.Bond)
	got := []any{bond.Mode, bond.ArpInterval, fmt.Sprint(bond.ArpIpTargets), bond.PrimaryReselect, bond.UpDelay, bond.FailOverMac, bond.Miimon}
	want := []any{netlink.BOND_MODE_ACTIVE_BACKUP, 100, "[192.0.2.1 192.0.2.2]", netlink.BOND_PRIMARY_RESELECT_FAILURE, 0, netlink.BOND_FAIL_OVER_MAC_FOLLOW, -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnsupportedIsSaidAllAtOnce(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: eth0, type: ethernet, lldp: {enabled: true}, ethtool: {ring: {rx: 1}}, ipv6: {enabled: true, dhcp: true, autoconf: false}}
- {name: br0, type: linux-bridge, bridge: {options: {mac-ageing-time: 3}, port: [{name: eth0, vlan: {mode: access, tag: 4}}]}}
- {name: b0, type: bond, link-aggregation: {mode: active-backup, options: {tlb_dynamic_lb: true}}}
- {name: off, type: macsec, state: absent}
`)
	var got []string
	for _, err := range Unsupported(doc) {
		got = append(got, err.Error())
	}
	text := strings.Join(got, "\n")
	for _, what := range []string{"lldp", "ethtool", "ipv6.dhcp", "bridge option", "bridge port eth0", "bond option"} {
		if !strings.Contains(text, what) {
			t.Errorf("no word of %s in\n%s", what, text)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d sentences:\n%s", len(got), text)
	}
}
