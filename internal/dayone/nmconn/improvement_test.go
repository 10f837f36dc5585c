package nmconn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file are the differences from NMState's generator, in the order of docs/day-one-keyfiles.md.

func TestABridgeThatCopiesAMACGivesItToItsInternalInterface(t *testing.T) {
	doc := "- {name: eno1, type: ethernet%s}\n- {name: br-ex, type: ovs-bridge, copy-mac-from: eno1, bridge: {port: [{name: eno1}, {name: br-ex}]}}\n- {name: br-ex, type: ovs-interface}\n"
	checkWritten(t, []written{
		{"the address is in the document", strings.Replace(doc, "%s", ", mac-address: '52:54:00:00:00:02'", 1), "br-ex-if", "ethernet", "cloned-mac-address=52:54:00:00:00:02"},
		{"the address is known to the host alone, and NMState does nothing either", strings.Replace(doc, "%s", "", 1), "br-ex-if", "ethernet", "-"},
	})
	_, problems := generate(t, "d.yml", []byte("interfaces:\n"+strings.Replace(doc, "%s", "", 1)))
	if len(problems.Warnings()) != 1 || !strings.Contains(problems[0].Message, "is left to the host") {
		t.Errorf("no warning: %v", problems)
	}
}

func TestAPortWithItsBridgesNameIsInternal(t *testing.T) {
	checkWritten(t, []written{
		{"NMState takes it for a card, which the host does not have", "- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1}, {name: br-ex}]}}", "br-ex-if", "ovs-interface", "type=internal"},
		{"a bridge without ports has one", "- {name: br-ex, type: ovs-bridge}", "br-ex-if", "ovs-interface", "type=internal"},
	})
	files, _ := generate(t, "d.yml", []byte("interfaces: [{name: br-ex, type: ovs-bridge, bridge: {port: []}}]"))
	if diff := cmp.Diff([]string{"br-ex-br", "br-ex-port", "br-ex-if"}, names(files)); diff != "" {
		t.Error(diff)
	}
}

func TestSectionsThatNMStateForgetsAreWritten(t *testing.T) {
	checkWritten(t, []written{
		{"IPVLAN", "- {name: i, type: ipvlan, ipvlan: {base-iface: a, mode: l2, private: true}}", "i", "ipvlan", "mode=1 parent=a private=true"},
		{"IPVLAN in its default mode", "- {name: i, type: ipvlan, ipvlan: {base-iface: a}}", "i", "ipvlan", "mode=2 parent=a"},
		{"MACsec", "- {name: m, type: macsec, macsec: {base-iface: a, encrypt: true, port: 1, validation: strict, send-sci: true, offload: mac, mka-cak: 50b71a8ef0bd5751ea76de6d6c98c03a, mka-ckn: f2b4}}", "m", "macsec", "encrypt=true mka-cak=50b71a8ef0bd5751ea76de6d6c98c03a mka-ckn=f2b4 offload=2 parent=a port=1 send-sci=true validation=2"},
		{"MACsec with the older name of what it is on", "- {name: m, type: macsec, macsec: {parent: a, encrypt: false, port: 0, validation: check, send-sci: false}}", "m", "macsec", "encrypt=false parent=a port=0 send-sci=false validation=1"},
		{"HSR", "- {name: h, type: hsr, hsr: {port1: a, port2: b, multicast-spec: 40, protocol: prp}}", "h", "hsr", "multicast-spec=40 port1=a port2=b prp=true"},
	})
}

func TestDUIDsAreOnesThatNetworkManagerKnows(t *testing.T) {
	checkWritten(t, []written{
		{"uuid is stable-uuid", "- {name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, dhcp-duid: uuid, dhcp-send-hostname: false}}", "a", "ipv6",
			"addr-gen-mode=0 dhcp-duid=stable-uuid dhcp-iaid=mac dhcp-send-hostname=false dhcp-timeout=2147483647 ignore-auto-dns=false ignore-auto-routes=false method=dhcp never-default=false ra-timeout=2147483647"},
	})
	_, problems := generate(t, "d.yml", []byte("interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, dhcp-duid: en}}]"))
	if !problems.HasErrors() {
		t.Error("en is written")
	}
}

func TestDelaysAndTargetsNeedTheirMonitor(t *testing.T) {
	for _, options := range []string{"updelay: 100", "downdelay: 100", "arp_ip_target: 192.0.2.1", "ns_ip6_target: ['2001:db8::1']", "miimon: 0, updelay: 1"} {
		_, problems := generate(t, "d.yml", []byte("interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, options: {"+options+"}}}]"))
		if !problems.HasErrors() {
			t.Errorf("%s is written, and NetworkManager drops the file", options)
		}
	}
	_, problems := generate(t, "d.yml", []byte("interfaces: [{name: b, type: bond, link-aggregation: {mode: 1, options: {updelay: 0, downdelay: 0}}}]"))
	if problems.HasErrors() {
		t.Errorf("no delay is refused: %v", problems)
	}
}

func TestOptionsThatABondsModeDoesNotHaveAreRefused(t *testing.T) {
	for _, c := range []struct{ why, mode, options, says string }{
		{"no LACP in other modes", "1", "lacp_rate: fast", "lacp_rate: is fast, and mode active-backup has no LACP"},
		{"nor a partner to speak first", "balance-rr", "lacp_active: true", "lacp_active: is set, and mode balance-rr"},
		{"LACP watches by MII", "4", "arp_interval: 100, arp_ip_target: 192.0.2.1", "mode 802.3ad cannot watch its links by ARP"},
		{"balance-tlb too", "5", "arp_interval: 100, arp_ip_target: 192.0.2.1", "mode balance-tlb cannot"},
		{"balance-alb too", "6", "arp_interval: 100, arp_ip_target: 192.0.2.1", "mode balance-alb cannot"},
		{"no first among equals", "2", "primary: x", `primary: is "x", and in mode balance-xor all ports are active`},
		{"a monitor needs something to ask", "1", "arp_interval: 100", "arp_interval: is 100, and needs arp_ip_target"},
		{"a priority of the system", "4", "ad_actor_sys_prio: 0", "ad_actor_sys_prio: is 0; it is from 1 to 65535"},
		{"a key of ten bits", "4", "ad_user_port_key: 1024", "ad_user_port_key: is 1024; it is from 0 to 1023"},
		{"learning packets", "5", "lp_interval: 0", "lp_interval: is 0; it is from 1"},
		{"packets in turn", "0", "packets_per_slave: 65536", "packets_per_slave: is 65536; it is from 0 to 65535"},
		{"reports of IGMP", "1", "resend_igmp: 256", "resend_igmp: is 256; it is from 0 to 255"},
		{"one number under two names", "1", "num_grat_arp: 1, num_unsol_na: 2", "num_unsol_na: is 2, and num_grat_arp, which is the same number, 1"},
	} {
		text := "interfaces: [{name: b, type: bond, link-aggregation: {mode: " + c.mode + ", options: {" + c.options + "}}}]"
		files, problems := Profiles(mustParse(t, text))
		if err := problems.Err(); err == nil || files != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, for a host: got %v, want %q", c.why, err, c.says)
		}
		files, problems = generate(t, "d.yml", []byte(text))
		if len(files) != 1 || len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].String(), c.says) {
			t.Errorf("%s, as NMState: %d files, %v", c.why, len(files), problems)
		}
	}
	checkWritten(t, []written{
		{"targets of IPv6 are one text", "- {name: b, type: bond, link-aggregation: {mode: 1, options: {arp_interval: 100, ns_ip6_target: ['2001:db8::1', '2001:db8::2']}}}", "b", "bond", "arp_interval=100 mode=active-backup ns_ip6_target=2001:db8::1,2001:db8::2"},
		{"the kernel's default of LACP is written, with a warning", "- {name: b, type: bond, link-aggregation: {mode: 1, options: {lacp_rate: 0}}}", "b", "bond", "lacp_rate=slow mode=active-backup"},
	})
}

func TestReservedNamesAreWarnedOf(t *testing.T) {
	for _, name := range []string{"br-int", "br0", "ovn-k8s-mp0", "genev_sys_6081", "tun0"} {
		_, problems := generate(t, "d.yml", []byte("interfaces: [{name: "+name+", type: dummy}]"))
		if problems.HasErrors() || len(problems) == 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestTextStaysOnItsLine(t *testing.T) {
	checkWritten(t, []written{{"a description cannot add keys to a profile", `- {name: a, type: ethernet, description: "x\n[ipv4]\nmethod=auto\\"}`, "a", "user", `nmstate.interface.description=x\n[ipv4]\nmethod=auto\\`}})
}

func TestRulesAreNotLostInInterfacesWithoutTheirFamily(t *testing.T) {
	doc := "interfaces:\n- {name: a, type: ethernet}\n- {name: b, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}\nroute-rules: {config: [{ip-from: 192.0.2.1, route-table: 254}, {ip-from: 192.0.2.1, iif: a, route-table: 7}]}\n"
	if got := keysOf(t, doc, "b", "ipv4", "routing-rule"); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestTheDocumentIsNotChanged(t *testing.T) {
	text := "interfaces: [{name: br, type: ovs-bridge}, {name: b, type: bond, copy-mac-from: x, link-aggregation: {mode: 1, port: [x]}}, {name: x, type: ethernet, mac-address: '02:00:00:00:00:01'}]"
	doc := mustParse(t, text)
	before, _ := doc.YAML()
	Generate(doc)
	if after, _ := doc.YAML(); string(before) != string(after) {
		t.Error(cmp.Diff(string(before), string(after)))
	}
}

func TestWhatWorksOtherwiseThanItSeemsIsWarnedOf(t *testing.T) {
	for _, c := range []struct{ why, doc, says string }{
		{"STP costs half a minute", "interfaces: [{name: b, type: linux-bridge}]", "turns STP on"},
		{"the MAC address is made up", "interfaces: [{name: b, type: linux-bridge}]", "makes one up"},
		{"a route is lost", "interfaces: [{name: a, type: ethernet, ipv4: {enabled: true, dhcp: true}}]\nroutes: {config: [{destination: 10.0.0.0/8, next-hop-interface: a, metric: 1}, {destination: 10.0.0.0/8, next-hop-interface: a, metric: 2}]}", "routes.config[1]: is dropped"},
		{"a port of Open vSwitch without an entry", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: x}]}}]", `is "x", which has no entry`},
		{"no type", "interfaces: [{name: a}]", "ethernet is assumed"},
		{"the host's name", "hostname: {config: w0}", "hostname.config: is not part of any profile"},
		{"the database as a whole", "ovs-db: {external_ids: {a: 1}}", "ovs-db: is not part of any profile"},
		{"the bridge's MTU", "interfaces: [{name: b, type: ovs-bridge, mtu: 9000, bridge: {port: [{name: b}]}}]", "mtu: is ignored"},
		{"a VRF's MAC address", "interfaces: [{name: r, type: vrf, mac-address: '02:00:00:00:00:01', vrf: {route-table-id: 5}}]", "type vrf has none"},
		{"copying to what cannot copy", "interfaces: [{name: a, type: ethernet, copy-mac-from: b}]", "has no effect on type ethernet"},
		{"copying to a bridge without its interface", "interfaces: [{name: b, type: ovs-bridge, copy-mac-from: x, bridge: {port: [{name: x}]}}]", "has no internal interface of its name"},
		{"link-local addresses", "interfaces: [{name: a, type: ethernet, ipv6: {enabled: true, address: [{ip: 'fe80::1', prefix-length: 64}]}}]", "link-local addresses are the kernel's"},
		{"a hidden password", "interfaces: [{name: a, type: ethernet, 802.1x: {identity: me, password: '<_password_hid_by_nmstate>'}}]", "put the password in"},
		{"a bond of one", "interfaces: [{name: b, type: ovs-bridge, bridge: {port: [{name: o, link-aggregation: {mode: lacp, port: [{name: x}]}}]}}]", "does not take for a bond"},
	} {
		files, problems := generate(t, "d.yml", []byte(c.doc))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		if text := strings.Join(all, "\n"); files == nil || problems.HasErrors() || !strings.Contains(text, c.says) || !strings.Contains(text, "warning: ") {
			t.Errorf("%s: %s", c.why, text)
		}
	}
}
