package livestate

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func parse(t testing.TB, text string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("test.yml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return doc
}

func static(prefix string) Address { return Address{Prefix: netip.MustParsePrefix(prefix)} }

func leased(prefix string) Address {
	return Address{Prefix: netip.MustParsePrefix(prefix), Dynamic: true}
}

// host is a node with a card and br-ex.
func host() State {
	return State{
		Hostname: "master-0",
		Links: []Link{
			{Name: "lo", Kind: "loopback", Up: true, MTU: 65536},
			{Name: "enp1s0", Kind: "ethernet", MAC: "52:54:00:00:00:01", PermanentMAC: "52:54:00:00:00:01", Up: true, MTU: 1500, Addresses: []Address{static("fe80::1/64")}},
			{Name: "br-ex", Kind: "tun", MAC: "52:54:00:00:00:01", Up: true, MTU: 1500, Addresses: []Address{static("192.0.2.10/24"), static("2001:db8::10/64")}},
			{Name: "vlan7", Kind: "vlan", Parent: "enp1s0", Up: true, MTU: 1500, VLAN: &VLAN{ID: 7}},
			{Name: "bond0", Kind: "bond", Up: true, MTU: 1500, Bond: &Bond{Mode: "802.3ad", Ports: []string{"p2", "p1"}}},
			{Name: "off0", Kind: "ethernet", MTU: 1500},
		},
		Routes: []Route{
			{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Interface: "br-ex", Metric: 48, Table: MainTable, Protocol: "static"},
			{Destination: netip.MustParsePrefix("192.0.2.0/24"), Interface: "br-ex", Table: MainTable, Protocol: "kernel"},
			{Destination: netip.MustParsePrefix("203.0.113.0/24"), Table: MainTable, Type: "blackhole"},
			{Destination: netip.MustParsePrefix("198.51.100.0/24"), Via: netip.MustParseAddr("192.0.2.9"), Interface: "br-ex", Table: 100},
		},
		Rules: []Rule{{Family: 4, Priority: 30000, From: netip.MustParsePrefix("192.0.2.0/24"), Table: 100, SuppressPrefixLength: -1}},
		DNS:   DNS{Servers: []string{"192.0.2.53", "192.0.2.54", "192.0.2.55"}, Search: []string{"example.com"}},
		OVS: []Bridge{{Name: "br-ex", Datapath: "netdev", ExternalIDs: map[string]string{"bridge-uplink": "enp1s0"}, Ports: []BridgePort{
			{Name: "enp1s0", Interfaces: []BridgeInterface{{Name: "enp1s0"}}},
			{Name: "br-ex", Interfaces: []BridgeInterface{{Name: "br-ex", Type: "internal"}}},
			{Name: "patch-br-ex-to-br-int", Interfaces: []BridgeInterface{{Name: "patch-br-ex-to-br-int", Type: "patch"}}},
		}}},
	}
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		want           []string
	}{
		{"all as wanted, in another case and with host bits", `
interfaces:
- {name: enp1s0, type: ethernet, mac-address: "52:54:00:00:00:01", mtu: 1500, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: br-ex}, {name: enp1s0}]}, ovs-db: {external_ids: {bridge-uplink: enp1s0}}}
- {name: br-ex, type: ovs-interface, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: br-ex}, {destination: 203.0.113.9/24, route-type: blackhole}]}
route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 100}]}
dns-resolver: {config: {server: [192.0.2.53, 192.0.2.55]}}
hostname: {running: master-0}`, nil},
		{"a veth is an ethernet device", `{interfaces: [{name: off0, type: veth, veth: {peer: x}, state: down}]}`, nil},
		{"link", `{interfaces: [{name: enp1s0, type: ethernet, mtu: 9000, mac-address: "52:54:00:00:00:02"}]}`,
			[]string{"enp1s0: mac-address is 52:54:00:00:00:01, wanted 52:54:00:00:00:02", "enp1s0: mtu is 1500, wanted 9000"}},
		{"what must be up is down, and the other way round", `{interfaces: [{name: off0, type: ethernet}, {name: enp1s0, type: ethernet, state: down}]}`,
			[]string{"off0: state is down, wanted up", "enp1s0: state is up, wanted down"}},
		{"missing", `{interfaces: [{name: eth9, type: ethernet}]}`, []string{"eth9: state is absent, wanted present"}},
		{"absent: a card cannot go, a VLAN can", `{interfaces: [{name: enp1s0, type: ethernet, state: absent}, {name: vlan7, type: vlan, state: absent}]}`,
			[]string{"vlan7: state is present, wanted absent"}},
		{"an address with another prefix length is another", `{interfaces: [{name: br-ex, type: ovs-interface, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 25}]}}]}`,
			[]string{"br-ex: ipv4 address is 192.0.2.10/24, wanted 192.0.2.10/25"}},
		{"addresses where none are wanted", `{interfaces: [{name: br-ex, type: ovs-interface, ipv4: {enabled: false}}]}`,
			[]string{"br-ex: ipv4 is 192.0.2.10/24, wanted nothing"}},
		{"extra addresses where none are allowed", `{interfaces: [{name: br-ex, type: ovs-interface, ipv4: {enabled: true, allow-extra-address: false, address: []}}]}`,
			[]string{"br-ex: ipv4 address is 192.0.2.10/24, wanted nothing"}},
		{"a lease that is missing", `{interfaces: [{name: off0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]}`,
			[]string{"off0: state is down, wanted up", "off0: ipv4 is nothing, wanted an automatic address"}},
		{"a bridge port too few, and one that is not OVN's too many", `{interfaces: [{name: br-ex, type: ovs-bridge, bridge: {port: [{name: br-ex}, {name: eth5}]}}]}`,
			[]string{"br-ex: port eth5 is absent, wanted present", "br-ex: port enp1s0 is present, wanted absent"}},
		{"a bond's ports in another order", `{interfaces: [{name: bond0, type: bond, link-aggregation: {mode: "4", port: [p1, p2]}}]}`, nil},
		{"a bond's mode and ports", `{interfaces: [{name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [p1]}}]}`,
			[]string{"bond0: mode is 802.3ad, wanted active-backup", "bond0: ports is p1 p2, wanted p1"}},
		{"a bond works without a port that has no link", `{interfaces: [{name: bond0, type: bond, link-aggregation: {mode: "4", port: [p1, off0, p2]}}]}`, nil},
		{"a port that the host does not have is a mistake", `{interfaces: [{name: bond0, type: bond, link-aggregation: {mode: "4", port: [p1, p2, p3]}}]}`,
			[]string{"bond0: ports is p1 p2, wanted p1 p2 p3"}},
		{"a VLAN's id", `{interfaces: [{name: vlan7, type: vlan, vlan: {id: 8, base-iface: enp1s0}}]}`, []string{"vlan7: vlan id is 7, wanted 8"}},
		{"routes: metric, table and absence", `
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: br-ex, metric: 49}
  - {destination: 198.51.100.0/24, next-hop-address: 192.0.2.9, next-hop-interface: br-ex}
  - {state: absent, next-hop-interface: br-ex, destination: 0.0.0.0/0}`,
			[]string{"route: 0.0.0.0/0 via 192.0.2.1 on br-ex is absent, wanted present", "route: 198.51.100.0/24 via 192.0.2.9 on br-ex is absent, wanted present",
				"route: 0.0.0.0/0 on br-ex is present, wanted absent"}},
		{"the kernel's own route matches no pattern", `{routes: {config: [{state: absent, destination: 192.0.2.0/24, next-hop-interface: br-ex}]}}`, nil},
		{"rules", `{route-rules: {config: [{ip-from: 192.0.2.0/24, route-table: 101}, {state: absent, route-table: 100}]}}`,
			[]string{"rule: from 192.0.2.0/24 to all table 101 is absent, wanted present", "rule: from all to all table 100 is present, wanted absent"}},
		{"DNS in another order", `{dns-resolver: {config: {server: [192.0.2.55, 192.0.2.53], search: [example.com]}}}`,
			[]string{"dns: server is 192.0.2.53 192.0.2.54 192.0.2.55, wanted 192.0.2.55 192.0.2.53"}},
		{"OVN's mapping", `{ovn: {bridge-mappings: [{localnet: physnet, bridge: br-ex}]}}`,
			[]string{"switch: external_ids ovn-bridge-mappings is nothing, wanted physnet:br-ex"}},
		{"ignored", `{interfaces: [{name: eth9, type: ethernet, state: ignore}]}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			found := Compare(parse(t, tt.document), host())
			for _, d := range found {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(found, ParseDifferences("verify: "+strings.Join(got, Separator)+"; rolled back to the network as it was")); diff != "" {
				t.Errorf("read from a message: %s", diff)
			}
		})
	}
}

func TestAddressMustBeUsable(t *testing.T) {
	doc := parse(t, `{interfaces: [{name: br-ex, type: ovs-interface, ipv6: {enabled: true, address: [{ip: "2001:db8::10", prefix-length: 64}]}}]}`)
	for have, set := range map[string]func(*Address){
		"":                           func(*Address) {},
		"tentative":                  func(a *Address) { a.Tentative = true },
		"in use by another host too": func(a *Address) { a.Duplicate = true },
	} {
		s := host()
		set(&s.Links[2].Addresses[1])
		found := Compare(doc, s)
		if (len(found) == 0) != (have == "") || len(found) > 0 && found[0].Have != have {
			t.Errorf("%q: %v", have, found)
		}
	}
}

func TestWhichFamilyMustHaveAnAddressByItself(t *testing.T) {
	for _, tt := range []struct {
		name, wait string
		four, six  bool
		ok         bool
	}{
		{"both have", "", true, true, true},
		{"no router: IPv4 is enough", "", true, false, true},
		{"no server: IPv6 is enough by default", "", false, true, true},
		{"neither has", "", false, false, false},
		{"both must", "wait-ip: ipv4+ipv6,", true, false, false},
		{"IPv4 must", "wait-ip: ipv4,", false, true, false},
		{"IPv6 must", "wait-ip: ipv6,", false, true, true},
	} {
		doc := parse(t, `{interfaces: [{name: enp1s0, type: ethernet, `+tt.wait+` ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}]}`)
		s := host()
		if tt.four {
			s.Links[1].Addresses = append(s.Links[1].Addresses, leased("192.0.2.20/24"))
		}
		if tt.six {
			s.Links[1].Addresses = append(s.Links[1].Addresses, leased("2001:db8::20/64"))
		}
		if found := Compare(doc, s); (len(found) == 0) != tt.ok {
			t.Errorf("%s: %v", tt.name, found)
		}
	}
}

func TestConcreteSaysEverythingOutright(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: uplink, type: ethernet, identifier: mac-address, mac-address: "52:54:00:00:00:01"}
- name: br-ex
  type: ovs-bridge
  copy-mac-from: uplink
  bridge: {port: [{name: uplink}, {name: br-ex}]}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: uplink, next-hop-address: 192.0.2.1}]}
route-rules: {config: [{iif: uplink, ip-from: 192.0.2.0/24}]}`)
	before, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Concrete(doc, host())
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
interfaces:
- {name: enp1s0, type: ethernet, identifier: name}
- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: enp1s0}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, state: up, mac-address: "52:54:00:00:00:01"}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: enp1s0, next-hop-address: 192.0.2.1}]}
route-rules: {config: [{iif: enp1s0, ip-from: 192.0.2.0/24}]}`)
	gotText, wantText := yaml(t, got), yaml(t, want)
	if diff := cmp.Diff(wantText, gotText); diff != "" {
		t.Error(diff)
	}
	if after := yaml(t, doc); after != string(before) {
		t.Error("the document itself was changed")
	}
	if again, err := Concrete(got, host()); err != nil || yaml(t, again) != gotText {
		t.Errorf("what is concrete changes when it is made so again: %v", err)
	}
}

func TestCardIsFoundByItsAddressAndNotWhatIsOverIt(t *testing.T) {
	s := host()
	s.Links[1].PermanentMAC = "" // as in a virtual machine, or where a driver does not say
	s.Links[1].Controller = "br-ex"
	s.Links[1], s.Links[2] = s.Links[2], s.Links[1]
	if got, ok := s.LinkByMAC("52:54:00:00:00:01"); !ok || got.Name != "enp1s0" {
		t.Errorf("found %v", got)
	}
}

func yaml(t testing.TB, doc *nmstate.Document) string {
	t.Helper()
	out, err := doc.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestConcreteReportsEverythingThatTheHostLacks(t *testing.T) {
	_, err := Concrete(parse(t, `
interfaces:
- {name: a, type: ethernet, identifier: mac-address, mac-address: "52:54:00:00:00:99"}
- {name: b0, type: linux-bridge, copy-mac-from: eth7, bridge: {port: [{name: eth8}]}}
- {name: v, type: vlan, vlan: {id: 3, base-iface: eth9}}
- {name: eth10, type: ethernet, state: absent}`), host())
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range []string{"52:54:00:00:00:99", "eth7", "eth8", "eth9"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no word of %s in %v", word, err)
		}
	}
	if strings.Contains(err.Error(), "eth10") {
		t.Errorf("an interface that is to go may be gone: %v", err)
	}
}

func TestBridgeWanted(t *testing.T) {
	doc := parse(t, `
interfaces:
- name: br0
  type: ovs-bridge
  bridge:
    options: {datapath: netdev, fail-mode: secure, stp: true, rstp: false, mcast-snooping-enable: true}
    port:
    - {name: eth1, vlan: {mode: access, tag: 5}}
    - {name: eth2, vlan: {mode: trunk, trunk-tags: [{id: 6}, {id-range: {min: 10, max: 11}}]}}
    - {name: ob, link-aggregation: {mode: balance-tcp, port: [{name: eth3}, {name: eth4}], bond-updelay: 100}}
    - {name: p0}
    - {name: br0}
  ovs-db: {external_ids: {a: 1, gone: null}}
- {name: br0, type: ovs-interface, mtu: 1400, mac-address: "52:54:00:00:00:0A"}
- {name: p0, type: ovs-interface, patch: {peer: p1}}`)
	tag := 5
	want := Bridge{
		Name: "br0", Datapath: "netdev", FailMode: "secure", STP: true, McastSnooping: true,
		ExternalIDs: map[string]string{"a": "1"}, Drop: []string{"gone"},
		Ports: []BridgePort{
			{Name: "eth1", Tag: &tag, VLANMode: "access", Interfaces: []BridgeInterface{{Name: "eth1"}}},
			{Name: "eth2", Trunks: []int{6, 10, 11}, VLANMode: "trunk", Interfaces: []BridgeInterface{{Name: "eth2"}}},
			{Name: "ob", BondMode: "balance-tcp", LACP: "active", UpDelay: 100, Interfaces: []BridgeInterface{{Name: "eth3"}, {Name: "eth4"}}},
			{Name: "p0", Interfaces: []BridgeInterface{{Name: "p0", Type: "patch", Options: map[string]string{"peer": "p1"}}}},
			{Name: "br0", Interfaces: []BridgeInterface{{Name: "br0", Type: "internal", MAC: "52:54:00:00:00:0a", MTU: 1400}}},
		},
	}
	if diff := cmp.Diff(want, BridgeWanted(&doc.Interfaces[0], doc)); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkCompare(b *testing.B) {
	doc := parse(b, `{interfaces: [{name: br-ex, type: ovs-interface, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]}`)
	s := host()
	for b.Loop() {
		Compare(doc, s)
	}
}

func TestConcreteNamesTheHostsInterfaceInEveryReference(t *testing.T) {
	s := State{Links: []Link{{Name: "lo", Kind: "loopback"}, {Name: "enp1s0", Kind: "ethernet", PermanentMAC: "52:54:00:00:00:01"}, {Name: "enp7s0", Kind: "ethernet", PCIAddress: "0000:07:00.0"}}}
	doc := parse(t, `
interfaces:
- {name: up, type: ethernet, identifier: mac-address, mac-address: "52:54:00:00:00:01"}
- {name: slot, type: ethernet, identifier: pci-address, pci-address: "0000:07:00.0", mac-address: "52:54:00:00:00:0a"}
- {name: t, type: mac-vtap, mac-vtap: {base-iface: up, mode: bridge}}
- {name: m, type: macsec, macsec: {base-iface: slot, encrypt: true, port: 1, validation: strict, send-sci: true}}
- {name: i, type: ipvlan, ipvlan: {base-iface: up}}
- {name: ib, type: infiniband, infiniband: {base-iface: up, mode: datagram, pkey: 5}}
- {name: h, type: hsr, hsr: {port1: up, port2: slot, multicast-spec: 1, protocol: prp}}
- {name: b, type: bond, link-aggregation: {mode: active-backup, port: [up, slot], options: {primary: slot}}}
`)
	out, err := Concrete(doc, s)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := out.YAML()
	if got := strings.Count(string(text), "enp1s0") + strings.Count(string(text), "enp7s0"); got != 11 || strings.Contains(string(text), ": up\n") {
		t.Errorf("%d names of the host in\n%s", got, text)
	}
	if out.Interfaces[1].MACAddress != "52:54:00:00:00:0A" {
		t.Error("a card found by its slot loses the address it is to have")
	}
	if _, err := Concrete(doc, State{}); err == nil || !strings.Contains(err.Error(), "interfaces[1].pci-address: no interface of this host has the address 0000:07:00.0") {
		t.Error(err)
	}
}
