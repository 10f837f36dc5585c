package nmconn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsRefusedSaysPathValueAndWayOut(t *testing.T) {
	for _, c := range []struct{ why, doc, says string }{
		{"a route to nowhere", "interfaces: []\nroutes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x}]}", `routes.config[0].next-hop-interface: is "x", which is no interface of this document, so the route would be lost; add the interface`},
		{"a route without an interface", "routes: {config: [{destination: 10.0.0.0/8}]}", `routes.config[0].next-hop-interface: is missing`},
		{"a route to an interface that goes", "interfaces: [{name: x, state: absent}]\nroutes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x}]}", `which is to be absent`},
		{"a route into a family that is off", "interfaces: [{name: x, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\nroutes: {config: [{destination: '::/0', next-hop-interface: x}]}", `where ipv6 is disabled`},
		{"a blackhole that leads somewhere", "interfaces: [{name: x, type: ethernet}]\nroutes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x, route-type: blackhole}]}", `is of type blackhole and leads nowhere`},
		{"a hop of the other family", "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x, next-hop-address: '::1'}]}", `is not of the family of the destination`},
		{"a destination that is none", "routes: {config: [{destination: 10.0.0.0/33, next-hop-interface: x}]}", `a network such as`},
		{"no destination", "routes: {config: [{next-hop-interface: x}]}", `write 0.0.0.0/0 or ::/0`},
		{"0.0.0.0 as an address", "routes: {config: [{destination: 0.0.0.0, next-hop-interface: x}]}", `no route can lead into 0.0.0.0/8`},
		{"weights", "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x, weight: 300}]}", `is 300; it is from 1 to 256`},
		{"weights of IPv6", "routes: {config: [{destination: '::/0', next-hop-interface: x, weight: 3}]}", `only for routes of IPv4`},
		{"no window", "routes: {config: [{destination: 10.0.0.0/8, next-hop-interface: x, cwnd: 0}]}", `cwnd: is 0`},
		{"a rule for nothing", "route-rules: {config: [{route-table: 5}]}", `has none of ip-from, ip-to and family`},
		{"a rule of two families", "route-rules: {config: [{ip-from: 10.0.0.0/8, ip-to: '::/0'}]}", `is of the other family`},
		{"a rule of another family", "route-rules: {config: [{ip-from: 10.0.0.0/8, family: ipv6}]}", `is not of family ipv6`},
		{"a mask without a mark", "route-rules: {config: [{family: ipv4, fwmask: 1}]}", `needs fwmark`},
		{"a rule for an unknown interface", "route-rules: {config: [{family: ipv4, iif: x}]}", `is "x", which is no interface of this document`},
		{"servers that alternate", "interfaces: [{name: x, type: ethernet, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true}}]\ndns-resolver: {config: {server: [192.0.2.1, '::1', 192.0.2.2]}}", `list them together`},
		{"a server that is none", "dns-resolver: {config: {server: [dns.example]}}", `an address is wanted`},
		{"a server through two interfaces", "dns-resolver: {config: {server: ['fe80::1%a', 'fe80::2%b']}}", `one interface has all of them`},
		{"a server through nothing", "dns-resolver: {config: {server: ['fe80::1%a']}}", `which is no interface of this document with ipv6 addresses`},
		{"searches without a place", "dns-resolver: {config: {search: [x.example]}}", `has no interface to belong to`},
		{"an unknown option", "interfaces: [{name: x, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\ndns-resolver: {config: {options: [rotat, ndots]}}", `options[0]: is "rotat"; known are`},
		{"one port of two", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [x]}}, {name: b, type: bond, link-aggregation: {mode: 1, port: [x]}}]", `is "x", which is a port of a already`},
		{"a port of itself", "interfaces: [{name: a, type: linux-bridge, bridge: {port: [{name: a}]}}]", `is the interface itself`},
		{"a port that goes", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [x]}}, {name: x, state: absent}]", `is "x", whose state is absent`},
		{"a port to ignore that only ports-config names", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, ports-config: [{name: x}]}}, {name: x, type: ethernet, state: ignore}]", `is "x", whose state is ignore`},
		{"two lists of ports, one with a port to ignore", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [x], ports-config: [{name: x}]}}, {name: x, type: ethernet, state: ignore}]", `does not have x`},
		{"a controller that does not know", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [y]}}, {name: x, type: ethernet, controller: a}]", `whose list of ports does not have x; add it there`},
		{"two words for one controller", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [x]}}, {name: x, type: ethernet, controller: ''}]", `let both say the same`},
		{"no such controller", "interfaces: [{name: x, type: ethernet, controller: a}]", `is "a", which is no interface of this document`},
		{"a controller that cannot be one", "interfaces: [{name: a, type: dummy}, {name: x, type: ethernet, controller: a}]", `cannot have ports`},
		{"Open vSwitch by the port's word only", "interfaces: [{name: a, type: ovs-bridge, bridge: {port: [{name: a}]}}, {name: x, type: ethernet, controller: a}]", `list the interface in the ports of that bridge`},
		{"an interface twice", "interfaces: [{name: a, type: dummy}, {name: a, type: ethernet}]", `is "a" a second time`},
		{"a name with a slash", "interfaces: [{name: ../../etc, type: ethernet}]", `no slash`},
		{"a name that is too long", "interfaces: [{name: abcdefghijklmnop, type: ethernet}]", `more than the 15 letters`},
		{"a profile outside its directory", "interfaces: [{name: a, profile-name: ../x, type: ethernet}]", `is not a valid file name`},
		{"two profiles of one name", "interfaces: [{name: a, profile-name: b, type: ethernet}, {name: b, type: ethernet}]", `which interface a has already`},
		{"an identifier without an address", "interfaces: [{name: a, type: ethernet, identifier: mac-address}]", `finds the interface by it`},
		{"scripts", "interfaces: [{name: a, type: ethernet, dispatch: {post-activation: x}}]", `has no place in a profile`},
		{"autoconf alone", "interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, autoconf: true}}]", `set dhcp too`},
		{"a token without autoconf", "interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, autoconf: false, token: '::1'}}]", `autoconf is off`},
		{"a token that is an address", "interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, autoconf: true, token: '2001:db8::1'}}]", `the last half of an address`},
		{"a prefix that is too long", "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 33}]}}]", `is 33; it is at most 32`},
		{"lo without addresses", "interfaces: [{name: lo, type: loopback, ipv4: {enabled: false}}]", `the loopback interface cannot have`},
		{"a VLAN without its parent", "interfaces: [{name: v, type: vlan, vlan: {id: 5}}]", `name the interface that carries the VLAN`},
		{"a VLAN without its section", "interfaces: [{name: v, type: vlan}]", `vlan: is missing`},
		{"a pair of one", "interfaces: [{name: v, type: veth}]", `veth: is missing`},
		{"a VLAN that cannot be", "interfaces: [{name: v, type: vlan, vlan: {id: 4095, base-iface: a}}]", `is 4095; it is at most 4094`},
		{"a VLAN on what goes", "interfaces: [{name: b, type: bond, state: absent}, {name: v, type: vlan, vlan: {id: 5, base-iface: b}}]", `is created on b, which is to be absent`},
		{"MACVLAN without promiscuity", "interfaces: [{name: m, type: mac-vlan, mac-vlan: {base-iface: a, mode: vepa, promiscuous: false}}]", `only with mode passthru`},
		{"IPVLAN in two ways", "interfaces: [{name: m, type: ipvlan, ipvlan: {base-iface: a, private: true, vepa: true}}]", `only one can be`},
		{"half a key of MACsec", "interfaces: [{name: m, type: macsec, macsec: {base-iface: a, encrypt: true, port: 0, validation: strict, send-sci: true, mka-cak: '00'}}]", `they need one another`},
		{"targets of IPv6 that are of IPv4", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, options: {arp_interval: 100, ns_ip6_target: [192.0.2.1]}}}]", `an address of IPv6 is wanted`},
		{"two ways to watch links", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, options: {miimon: 100, arp_interval: 100, arp_ip_target: 192.0.2.1}}}]", `in one of these ways`},
		{"ports that differ", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, port: [x, y], ports-config: [{name: x}]}}]", `does not have y`},
		{"one queue twice", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, ports-config: [{name: x, queue-id: 2}, {name: y, queue-id: 2}]}}]", `is 2, which x has already`},
		{"a multicast actor", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 4, options: {ad_actor_system: '01:00:5e:00:00:01'}}}]", `a multicast address`},
		{"balance-slb in another mode", "interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, options: {balance-slb: true}}}]", `needs mode balance-xor`},
		{"InfiniBand in a bridge", "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: ib0}]}}, {name: ib0, type: infiniband, infiniband: {mode: datagram}}]", `only be a port of a bond with mode active-backup`},
		{"two masks", "interfaces: [{name: b, type: linux-bridge, bridge: {options: {group-fwd-mask: 1, group-forward-mask: 2}}}]", `which is the same option`},
		{"a default VLAN without a filter", "interfaces: [{name: b, type: linux-bridge, bridge: {options: {vlan-default-pvid: 7}, port: [{name: x}]}}]", `nothing is filtered`},
		{"a tagged trunk", "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: trunk, tag: 5, trunk-tags: [{id: 6}]}}]}}]", `only with enable-native: true`},
		{"a native access port", "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: access, tag: 5, enable-native: true}}]}}]", `is for trunks`},
		{"an access port with trunks", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: x, vlan: {mode: access, trunk-tags: [{id: 5}]}}]}}]", `are for trunks`},
		{"a trunk of nothing", "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: trunk}}]}}]", `a trunk lists its VLANs`},
		{"VLANs that overlap", "interfaces: [{name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: trunk, trunk-tags: [{id-range: {min: 5, max: 9}}, {id: 9}]}}]}}]", `is 9, which overlaps with 5-9`},
		{"a patch with an MTU", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: p}]}}, {name: p, type: ovs-interface, mtu: 1500, patch: {peer: q}}]", `a patch between bridges has none`},
		{"a patch with addresses", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: p}]}}, {name: p, type: ovs-interface, ipv4: {enabled: true}, patch: {peer: q}}]", `cannot have addresses`},
		{"queues of odd sizes", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: p}]}}, {name: p, type: ovs-interface, dpdk: {devargs: x, n_rxq_desc: 1000}}]", `a power of two from 1 to 4096`},
		{"an interface of no bridge", "interfaces: [{name: p, type: ovs-interface}]", `which is a port of no ovs-bridge`},
		{"an unknown feature", "interfaces: [{name: a, type: ethernet, ethtool: {feature: {txvlam: true}}}]", `was txvlan meant?`},
		{"802.1ad without a VLAN", "interfaces: [{name: a, type: ethernet, ethernet: {sr-iov: {vfs: [{id: 0, vlan-proto: 802.1ad}]}}}]", `without vlan-id or qos`},
		{"a MAC address that is not in the document", "interfaces: [{name: b, type: bond, copy-mac-from: x, link-aggregation: {mode: 1}}]", `add it with its mac-address`},
		{"ports listed far before their controllers", "interfaces: [" + strings.Join([]string{
			"{name: f, type: ethernet, controller: e}", "{name: e, type: bond, link-aggregation: {mode: 1}, controller: d}", "{name: d, type: linux-bridge, controller: c}",
			"{name: c, type: vrf, vrf: {route-table-id: 5}, controller: b}", "{name: b, type: vrf, vrf: {route-table-id: 6}, controller: a}", "{name: a, type: vrf, vrf: {route-table-id: 7}}",
		}, ", ") + "]", `put controllers before their ports`},
	} {
		files, problems := generate(t, "d.yml", []byte(c.doc))
		if err := problems.Err(); err == nil || files != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func TestRefusalsOfTheGoldenFilesAreClear(t *testing.T) {
	for doc, want := range map[string]string{
		"interfaces: [{name: bond0, type: bond, link-aggregation: {port: [eno1]}}]": `d.yml:1: interfaces[0].link-aggregation.mode: is missing; a bond needs one, such as active-backup or 802.3ad`,
		"interfaces: [{name: red, type: vrf, vrf: {port: []}}]":                     `d.yml:1: interfaces[0].vrf.route-table-id: is missing or 0; name the routing table of the VRF`,
	} {
		_, problems := generate(t, "d.yml", []byte(doc))
		if diff := cmp.Diff(want, problems.Err().Error()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOneMistakeIsSaidOnce(t *testing.T) {
	_, problems := generate(t, "d.yml", []byte("interfaces:\n- {name: a, type: vlan, vlan: {id: 9999}}\n- {name: a, type: ethernet}\nroutes: {config: [{destination: x}, {destination: 0.0.0.0/8, next-hop-interface: a}]}\n"))
	if got := len(problems.Errors()); got != 6 {
		t.Errorf("%d: %v", got, problems.Err())
	}
}
