package automatic

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

func address(prefix string, dynamic bool) livestate.Address {
	return livestate.Address{Prefix: netip.MustParsePrefix(prefix), Dynamic: dynamic}
}

func route(destination, via, device string, metric int, protocol string) livestate.Route {
	return livestate.Route{
		Destination: netip.MustParsePrefix(destination), Via: netip.MustParseAddr(via), Interface: device, Metric: metric,
		Table: livestate.MainTable, Protocol: protocol,
	}
}

// host has two cards, each with a default route.
func host() livestate.State {
	return livestate.State{
		Links: []livestate.Link{
			{Name: "lo", Kind: "loopback"},
			{Name: "eth0", Kind: "ethernet", MAC: "52:54:00:00:00:01", MTU: 9000, Up: true, Addresses: []livestate.Address{address("192.0.2.10/24", false), address("fe80::1/64", false)}},
			{Name: "eth1", Kind: "ethernet", MAC: "52:54:00:00:00:02", MTU: 1500, Up: true, Addresses: []livestate.Address{address("198.51.100.10/24", true)},
				IPv4: livestate.Method{DHCP: true}},
		},
		Routes: []livestate.Route{
			route("0.0.0.0/0", "192.0.2.1", "eth0", 100, "static"), route("203.0.113.0/24", "192.0.2.9", "eth0", 150, "static"),
			route("0.0.0.0/0", "198.51.100.1", "eth1", 101, "dhcp"),
		},
		DNS: livestate.DNS{Servers: []string{"192.0.2.53"}, Search: []string{"example.com"}},
	}
}

func TestUplink(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		hints     Hints
		change    func(*livestate.State)
		want      string
		err       string
	}{
		{name: "the best default route", why: "a lower metric wins", want: "eth0"},
		{name: "the administrator's word", why: "it comes before everything", hints: Hints{DefaultBridge: "eth1", PrimaryIP: "192.0.2.10"}, want: "eth1"},
		{name: "the administrator's word about nothing", why: "guessing on would hide the mistake", hints: Hints{DefaultBridge: "eth7"}, err: "eth7"},
		{name: "the node's address", why: "kubelet will use it", hints: Hints{PrimaryIP: "198.51.100.10"}, want: "eth1"},
		{name: "an earlier boot", why: "it must not change from boot to boot", hints: Hints{Stored: "eth1"}, want: "eth1"},
		{name: "an earlier boot, without a route now", why: "nothing leads out there", hints: Hints{Stored: "eth1"}, want: "eth0",
			change: func(s *livestate.State) { s.Routes = s.Routes[:2] }},
		{name: "not the other bridge's card", why: "it is taken", hints: Hints{ExtraBridge: "eth0"}, want: "eth1"},
		{name: "IPv6 only", why: "no IPv4 default route is there", want: "eth1",
			change: func(s *livestate.State) {
				s.Routes = []livestate.Route{route("::/0", "fe80::2", "eth1", 1024, "ra")}
			}},
		{name: "nothing leads out", why: "a lease may come", err: ErrNoUplink.Error(), change: func(s *livestate.State) { s.Routes = nil }},
		{name: "made before", why: "the bridge has the default route, and the card is below it", want: "eth0",
			change: func(s *livestate.State) {
				s.Routes = []livestate.Route{route("0.0.0.0/0", "192.0.2.1", "br-ex", 48, "static")}
				s.OVS = []livestate.Bridge{{Name: "br-ex", Ports: []livestate.BridgePort{
					{Name: "br-ex", Interfaces: []livestate.BridgeInterface{{Name: "br-ex", Type: "internal"}}},
					{Name: "eth0", Interfaces: []livestate.BridgeInterface{{Name: "eth0"}}},
				}}}
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := host()
			if tt.change != nil {
				tt.change(&live)
			}
			got, _, err := Uplink(live, tt.hints)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v; want %q, since %s", got, err, tt.want, tt.why)
			}
		})
	}
}

func TestStaticCardBecomesABridgeWithAllThatItHad(t *testing.T) {
	made, err := Generate(host(), Hints{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := made.Document.YAML()
	if err != nil {
		t.Fatal(err)
	}
	want := `dns-resolver:
  config:
    search:
      - example.com
    server:
      - 192.0.2.53
interfaces:
  - ipv4:
      enabled: false
    ipv6:
      enabled: false
    mac-address: "52:54:00:00:00:01"
    mtu: 9000
    name: eth0
    state: up
    type: ethernet
  - bridge:
      allow-extra-patch-ports: true
      port:
        - name: eth0
        - name: br-ex
    name: br-ex
    ovs-db:
      external_ids:
        bridge-uplink: eth0
    state: up
    type: ovs-bridge
  - ipv4:
      address:
        - ip: 192.0.2.10
          prefix-length: 24
      enabled: true
    ipv6:
      enabled: false
    mac-address: "52:54:00:00:00:01"
    mtu: 9000
    name: br-ex
    state: up
    type: ovs-interface
    wait-ip: ipv4
routes:
  config:
    - destination: 0.0.0.0/0
      metric: 48
      next-hop-address: 192.0.2.1
      next-hop-interface: br-ex
    - destination: 203.0.113.0/24
      metric: 150
      next-hop-address: 192.0.2.9
      next-hop-interface: br-ex
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentIsTheSameOnceTheBridgeIsThere(t *testing.T) {
	before := host()
	first, err := Generate(before, Hints{})
	if err != nil {
		t.Fatal(err)
	}
	after := host()
	bridge := after.Links[1]
	bridge.Name, bridge.Kind = "br-ex", "tun"
	after.Links[1].Addresses = nil
	after.Links = append(after.Links, bridge)
	for i := range after.Routes[:2] {
		after.Routes[i].Interface = "br-ex"
	}
	after.Routes[0].Metric = metric
	after.OVS = []livestate.Bridge{{Name: "br-ex", Ports: []livestate.BridgePort{
		{Name: "eth0", Interfaces: []livestate.BridgeInterface{{Name: "eth0"}}},
	}}}
	second, err := Generate(after, Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, first), text(t, second)); diff != "" {
		t.Error(diff)
	}
}

func text(t *testing.T, m Configuration) string {
	t.Helper()
	out, err := m.Document.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWhatMustBePreserved(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hints  Hints
		change func(*livestate.State)
		has    []string
		hasNot []string
	}{
		{name: "a lease is asked for again, with the same identifier and the winning metric", hints: Hints{DefaultBridge: "eth1"},
			change: func(s *livestate.State) { s.Links[2].IPv4.ClientID = "ll" },
			has:    []string{"dhcp: true", "dhcp-client-id: ll", "auto-route-metric: 48", "wait-ip: ipv4\n"}, hasNot: []string{"198.51.100.10", "dns-resolver", "routes"}},
		{name: "IPv6 by routers, and both families must have an address", hints: Hints{DefaultBridge: "eth1"},
			change: func(s *livestate.State) {
				s.Links[2].Addresses = append(s.Links[2].Addresses, address("2001:db8::5/64", true))
				s.Links[2].IPv6 = livestate.Method{Autoconf: true, DUID: "ll", AddrGenMode: "stable-privacy"}
			},
			has: []string{"autoconf: true", "dhcp-duid: ll", "addr-gen-mode: stable-privacy", "wait-ip: ipv4+ipv6"}},
		{name: "a bond that takes over its port's address is given none", change: func(s *livestate.State) {
			s.Links[1].Kind, s.Links[1].Bond = "bond", &livestate.Bond{Mode: "active-backup", Options: map[string]string{"fail_over_mac": "active", "miimon": "100"}, Ports: []string{"p1", "p2"}}
		}, has: []string{"fail_over_mac: active", "miimon: 100", "- p1"}},
		{name: "a bond keeps how it watches its links, and its first port", change: func(s *livestate.State) {
			s.Links[1].Kind, s.Links[1].Bond = "bond", &livestate.Bond{Mode: "active-backup", Ports: []string{"p1", "p2"}, Options: map[string]string{
				"miimon": "0", "arp_interval": "100", "arp_ip_target": "192.0.2.1", "primary": "p2", "primary_reselect": "failure"}}
		}, has: []string{"arp_interval: 100", "arp_ip_target: 192.0.2.1", "primary: p2", "primary_reselect: failure"}},
		{name: "LACP keeps its rate, its delays and how it spreads packets", change: func(s *livestate.State) {
			s.Links[1].Kind, s.Links[1].Bond = "bond", &livestate.Bond{Mode: "802.3ad", Ports: []string{"p1"}, Options: map[string]string{
				"miimon": "100", "updelay": "200", "downdelay": "300", "min_links": "1", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4"}}
		}, has: []string{"updelay: 200", "downdelay: 300", "min_links: 1", "lacp_rate: fast", "xmit_hash_policy: layer3+4"}},
		{name: "a VLAN keeps its number and what it is over", change: func(s *livestate.State) {
			s.Links[1].Kind, s.Links[1].Parent, s.Links[1].VLAN = "vlan", "bond0", &livestate.VLAN{ID: 7, Protocol: "802.1q"}
		}, has: []string{"base-iface: bond0", "id: 7"}},
		{name: "rules of the card's own routing table come along, and those of others do not", change: func(s *livestate.State) {
			s.Routes = append(s.Routes, livestate.Route{Destination: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("192.0.2.8"), Interface: "eth0", Table: 200, Protocol: "static"})
			s.Rules = []livestate.Rule{
				{Family: 4, Priority: 32766, Table: livestate.MainTable, SuppressPrefixLength: -1},
				{Family: 4, Priority: 100, From: netip.MustParsePrefix("192.0.2.10/32"), Table: 200, SuppressPrefixLength: -1},
				{Family: 4, Priority: 101, Table: 300, Interface: "eth1", SuppressPrefixLength: -1},
				{Family: 6, Priority: 102, Table: 400, Interface: "eth0", Mark: 16, Mask: 255, SuppressPrefixLength: 0},
			}
		}, has: []string{"ip-from: 192.0.2.10/32\n      priority: 100\n      route-table: 200\n", "family: ipv6\n      fwmark: 16\n      fwmask: 255\n      iif: br-ex\n      priority: 102\n      route-table: 400\n      suppress-prefix-length: 0\n", "table-id: 200"},
			hasNot: []string{"route-table: 300", "route-table: 254"}},
		{name: "a second bridge, with the second metric", hints: Hints{ExtraBridge: "eth1"}, has: []string{"name: br-ex1", "auto-route-metric: 49", "bridge-uplink: eth1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			live := host()
			if tt.change != nil {
				tt.change(&live)
			}
			made, err := Generate(live, tt.hints)
			if err != nil {
				t.Fatal(err)
			}
			got := text(t, made)
			for _, word := range tt.has {
				if !strings.Contains(got, word) {
					t.Errorf("no %q in\n%s", word, got)
				}
			}
			for _, word := range tt.hasNot {
				if strings.Contains(got, word) {
					t.Errorf("%q is in\n%s", word, got)
				}
			}
		})
	}
}

func TestBondWithFailOverMACHasNoAddressOfItsOwnButItsBridgeHas(t *testing.T) {
	live := host()
	live.Links[1].Kind, live.Links[1].Bond = "bond", &livestate.Bond{Mode: "active-backup", Options: map[string]string{"fail_over_mac": "follow"}}
	made, err := Generate(live, Hints{})
	if err != nil {
		t.Fatal(err)
	}
	if mac := made.Document.Interfaces[0].MACAddress; mac != "" {
		t.Errorf("the bond is given %s", mac)
	}
	if mac := made.Document.Interfaces[2].MACAddress; mac != "52:54:00:00:00:01" {
		t.Errorf("the bridge is given %q", mac)
	}
}

func TestSmallMTUWithIPv6IsWarnedOf(t *testing.T) {
	live := host()
	live.Links[1].MTU = 1200
	live.Links[1].Addresses = append(live.Links[1].Addresses, address("2001:db8::5/64", false))
	if made, err := Generate(live, Hints{}); err != nil || len(made.Warnings) != 1 {
		t.Errorf("warnings are %v, %v", made.Warnings, err)
	}
}

func TestReadHints(t *testing.T) {
	got, err := ReadHints(fstest.MapFS{
		DefaultBridgeFile: {Data: []byte(" eth1\n")}, PrimaryIPFile: {Data: []byte("192.0.2.10")}, StoredFile: {Data: []byte("")},
	})
	if diff := cmp.Diff(Hints{DefaultBridge: "eth1", PrimaryIP: "192.0.2.10"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := ReadHints(fstest.MapFS{DefaultBridgeFile: {}}); err == nil {
		t.Error("an empty file that names nothing is no error")
	}
	if _, err := Generate(livestate.State{}, Hints{}); !errors.Is(err, ErrNoUplink) {
		t.Errorf("a host without anything: %v", err)
	}
}
