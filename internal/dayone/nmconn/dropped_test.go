package nmconn

import (
	"strings"
	"testing"
)

// TestWhatNetworkManagerDropsIsRefused has documents for whose files NetworkManager was asked: it drops each.
func TestWhatNetworkManagerDropsIsRefused(t *testing.T) {
	macsec := "- {name: m, type: macsec, macsec: {base-iface: a, encrypt: true, port: 1, validation: strict, send-sci: true}}"
	for _, c := range []struct{ doc, says string }{
		{"- {name: lo, type: loopback, ipv4: {enabled: false}}", "the loopback interface cannot have"},
		{"- {name: lo, type: loopback, ipv6: {enabled: false}}\nroute-rules: {config: [{family: ipv6, route-table: 5}]}", "the loopback interface cannot have"},
		{"- {name: lo, type: loopback, ipv4: {enabled: true, dhcp: true}}", "which the loopback interface cannot"},
		{"- {name: b, type: linux-bridge, bridge: {options: {group-addr: '01:80:C2:00:00:01'}}}", "group-addr: is 01:80:C2:00:00:01; it is 01:80:C2:00:00:00, or one that ends in 04 to 0F"},
		{"- {name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: trunk, tag: 11, enable-native: true, trunk-tags: [{id: 5}, {id-range: {min: 10, max: 20}}]}}]}}", "trunk-tags[1]: is 10-20, which has the native tag 11 in it"},
		{"- {name: v, type: vxlan, vxlan: {id: 5, remote: gw.example}}", `vxlan.remote: is "gw.example", which is not an IP address`},
		{"- {name: v, type: vxlan, vxlan: {id: 5, remote: 192.0.2.1, local: '::1'}}", "vxlan.local: is ::1, and remote 192.0.2.1 is of the other family"},
		{"- {name: e, type: ethernet, mptcp: {address-flags: [signal, fullmesh]}}", "an address can have only one of them"},
		{macsec, "mka-ckn: is missing"},
		{"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [tls], client-cert: /c}}", "802.1x.private-key: is missing; method tls needs it"},
		{"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [tls], private-key: /k}}", "802.1x.client-cert: is missing; method tls needs it"},
		{"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [peap]}}", "802.1x.phase2-auth: is missing; method peap needs it"},
		{"- {name: e, type: ethernet, 802.1x: {eap-methods: [md5]}}", "802.1x.identity: is missing"},
		{"- {name: e, type: ethernet, 802.1x: {identity: me}}", "802.1x.eap-methods: is missing"},
		{"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [mschapv2]}}", `eap-methods[0]: is "mschapv2"; known`},
		{"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [peap], phase2-auth: foo}}", `phase2-auth: is "foo"; known`},
		{"- {name: 'sriov:eth1:2', type: ethernet}", "no device has such a name"},
		{"- {name: b, type: bond, link-aggregation: {mode: 1, port: ['sriov:eth1:2']}}", "link-aggregation.port[0]: is \"sriov:eth1:2\"; no device"},
		{"- {name: 'eth0:1', type: ethernet}", "no colon"},
		{"- {name: 'eth%d', type: dummy}", "no percent sign"},
		{"- {name: all, type: dummy}", "a name that the kernel uses itself"},
		{"- {name: v, type: veth, veth: {peer: 'v:1'}}", "veth.peer: is \"v:1\""},
		{"- {name: brü, type: ovs-bridge}", "letters of ASCII"},
		{"- {name: br, type: ovs-bridge, bridge: {port: [{name: pü}]}}", "bridge.port[0].name: is \"pü\""},
		{"- {name: i, type: infiniband}", "infiniband: is missing"},
		{"- {name: i, type: infiniband, infiniband: {mode: datagram, pkey: 0x8001}}", "base-iface: is missing"},
		{"- {name: i, type: infiniband, infiniband: {mode: datagram, base-iface: ib0, pkey: 0x8001}}", `is "i"; the kernel names this child ib0.8001`},
		{"- {name: ib0.8000, type: infiniband, infiniband: {mode: datagram, base-iface: ib0, pkey: 0x8000}}", "a partition is not 0"},
		{"- {name: e, type: ethernet, ipv4: {enabled: true}}\nroutes: {config: [{destination: 192.0.2.0/24, next-hop-interface: e}]}", "ipv4.address: is missing, and routes.config[0] refers to the interface"},
		{"- {name: e, type: ethernet, ipv6: {enabled: true, dhcp: true, autoconf: true, token: '::5', addr-gen-mode: stable-privacy}}", `ipv6.token: is "::5", and addr-gen-mode stable-privacy`},
	} {
		files, problems := Profiles(mustParse(t, "interfaces:\n"+c.doc))
		if err := problems.Err(); err == nil || files != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.doc, err, c.says)
		}
	}
}

// TestWhatIsCloseToDroppedIsRead has the neighbours of those documents, which NetworkManager reads.
func TestWhatIsCloseToDroppedIsRead(t *testing.T) {
	r := newReader(t)
	for _, doc := range []string{
		"- {name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 127.0.0.1, prefix-length: 8}, {ip: 192.0.2.1, prefix-length: 32}]}}",
		"- {name: lo, type: loopback}", "- {name: lo, type: loopback, ipv6: {enabled: true}}", "- {name: lo, type: loopback, state: down}",
		"- {name: e, type: ethernet, ipv4: {enabled: true, dhcp: true}}\nroute-rules: {config: [{family: ipv6, route-table: 5}]}",
		"- {name: b, type: linux-bridge, bridge: {options: {group-addr: '01:80:c2:00:00:0e'}}}",
		"- {name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: trunk, tag: 9, enable-native: true, trunk-tags: [{id-range: {min: 10, max: 20}}]}}]}}",
		"- {name: v, type: vxlan, vxlan: {id: 5, remote: '::2', local: '::1'}}",
		"- {name: e, type: ethernet, mptcp: {address-flags: [signal, subflow, backup]}}",
		"- {name: m, type: macsec, macsec: {base-iface: a, encrypt: true, port: 1, validation: strict, send-sci: true, mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a, mka-ckn: f2b4}}",
		"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [tls], client-cert: /c, private-key: /k, private-key-password: x}}",
		"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [peap, ttls], phase2-auth: mschapv2, password: x}}",
		"- {name: e, type: ethernet, 802.1x: {identity: me, eap-methods: [md5, leap, pwd, fast], password: x}}",
		"- {name: 'e;[x]=#', type: dummy}", "- {name: ü0, type: dummy}", "- {name: brü, type: linux-bridge}",
		"- {name: ib0, type: infiniband, infiniband: {mode: datagram}}",
		"- {name: ib0.8001, type: infiniband, infiniband: {mode: datagram, base-iface: ib0, pkey: 0x8001}}",
		"- {name: ib0.0001, type: infiniband, infiniband: {mode: datagram, base-iface: ib0, pkey: 1}}",
		"- {name: e, type: ethernet, ipv6: {enabled: true, dhcp: true, autoconf: true, token: '::5', addr-gen-mode: eui64}}",
		uplinks + "- {name: x, type: vlan, vlan: {base-iface: up, id: 5}}\n- {name: y, type: mac-vtap, mac-vtap: {base-iface: slot, mode: vepa}}\n- {name: b, type: bond, link-aggregation: {mode: 1, port: [up, slot]}}",
		uplinks + "- {name: o, type: ovs-bridge, bridge: {port: [{name: o}, {name: up}]}}\n- {name: z, type: vrf, vrf: {route-table-id: 5, port: [slot]}}",
	} {
		text := "interfaces:\n" + doc
		if _, problems := Profiles(mustParse(t, text)); problems.HasErrors() {
			t.Errorf("%s is refused: %v", doc, problems.Err())
		}
		r.accepted(t, "d.yml", text)
	}
}

func TestLoHasAddressesInBothFamilies(t *testing.T) {
	checkWritten(t, []written{
		{"a family that is not mentioned", "- {name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 32}]}}", "lo", "ipv6", "addr-gen-mode=0 address0=::1/128 dhcp-timeout=2147483647 method=manual"},
		{"nor the other", "- {name: lo, type: loopback, ipv6: {enabled: true, address: [{ip: '2001:db8::1', prefix-length: 128}]}}", "lo", "ipv4", "address0=127.0.0.1/8 dhcp-timeout=2147483647 method=manual"},
		{"what is written stays", "- {name: lo, type: loopback, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 32}]}}", "lo", "ipv4", "address0=192.0.2.1/32 dhcp-timeout=2147483647 method=manual"},
		{"a family that is on without an address", "- {name: lo, type: loopback, ipv4: {enabled: true}}", "lo", "ipv4", "address0=127.0.0.1/8 dhcp-timeout=2147483647 method=manual"},
	})
}

func TestRoutesHaveTheAttributesOfNewerVersions(t *testing.T) {
	base := "- {name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}\nroutes: {config: [{destination: 0.0.0.0/0, next-hop-interface: a, next-hop-address: 192.0.2.2, "
	checkWritten(t, []written{{"all of them", base + "mtu: 1400, initcwnd: 20, initrwnd: 30, quickack: true, advmss: 1300}]}", "a", "ipv4",
		"address0=192.0.2.1/24 dhcp-timeout=2147483647 method=manual route0=0.0.0.0/0,192.0.2.2,0 route0_options=table=254,mtu=1400,initcwnd=20,initrwnd=30,quickack=true,advmss=1300"}})
	newReader(t).accepted(t, "d.yml", "interfaces:\n"+base+"mtu: 1400, initcwnd: 20, initrwnd: 30, quickack: false, advmss: 1300}]}")
	if _, problems := generate(t, "d.yml", []byte("interfaces:\n"+base+"mtu: 0}]}")); !problems.HasErrors() {
		t.Error("an MTU of 0 is written")
	}
}
