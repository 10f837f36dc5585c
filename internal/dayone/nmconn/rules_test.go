package nmconn

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sectionOf returns the lines of one section of one of the files that a document becomes; ok is false if it is not
// there.
func sectionOf(t *testing.T, doc, file, section string) (lines []string, ok bool) {
	t.Helper()
	files, problems := generate(t, "d.yml", []byte(doc))
	if err := problems.Err(); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	at := slices.IndexFunc(files, func(f File) bool { return f.Name == file+".nmconnection" })
	if at < 0 {
		t.Fatalf("no %s in %v", file, names(files))
	}
	for _, s := range strings.Split(files[at].Content, "\n\n") {
		head, body, _ := strings.Cut(s, "\n")
		if head == "["+section+"]" {
			return strings.Fields(strings.ReplaceAll(strings.TrimSuffix(body, "\n"), " ", "_")), true
		}
	}
	return nil, false
}

func names(files []File) (out []string) {
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name, ".nmconnection"))
	}
	return out
}

// written is one thing that NMState writes: a document, and a section of it. Spaces in values are written _.
type written struct{ why, doc, file, section, want string }

func checkWritten(t *testing.T, rules []written) {
	t.Helper()
	for _, r := range rules {
		got, ok := sectionOf(t, "interfaces:\n"+r.doc, r.file, r.section)
		if r.want == "-" {
			if ok {
				t.Errorf("%s: [%s] is there: %q", r.why, r.section, got)
			}
			continue
		}
		if !ok {
			t.Errorf("%s: no [%s]", r.why, r.section)
			continue
		}
		if diff := cmp.Diff(strings.Fields(r.want), got); diff != "" {
			t.Errorf("%s:\n%s", r.why, diff)
		}
	}
}

func TestLinks(t *testing.T) {
	checkWritten(t, []written{
		{"a VLAN's flags are bits", "- {name: v, type: vlan, vlan: {base-iface: a, id: 5, registration-protocol: gvrp, loose-binding: true, reorder-headers: false}}", "v", "vlan", "flags=6 id=5 parent=a"},
		{"mvrp is 8, and reordering is on unless it is turned off", "- {name: v, type: vlan, vlan: {base-iface: a, id: 0, protocol: 802.1q, registration-protocol: mvrp}}", "v", "vlan", "flags=9 id=0 parent=a"},
		{"a VXLAN", "- {name: x, type: vxlan, vxlan: {id: 42, base-iface: a, remote: 192.0.2.9, local: '2001:DB8::1', learning: false, destination-port: 4789}}", "x", "vxlan", "destination-port=4789 id=42 learning=false local=2001:db8::1 parent=a remote=192.0.2.9"},
		{"modes of MACVLAN are numbers", "- {name: m, type: mac-vlan, mac-vlan: {base-iface: a, mode: bridge, promiscuous: true}}", "m", "macvlan", "mode=2 parent=a promiscuous=true tap=false"},
		{"MACVTAP is the same with a tap", "- {name: m, type: mac-vtap, mac-vtap: {base-iface: a, mode: passthru, promiscuous: false}}", "m", "macvlan", "mode=4 parent=a promiscuous=false tap=true"},
		{"a VRF has a table", "- {name: r, type: vrf, vrf: {port: [], route-table-id: 100}}", "r", "vrf", "table=100"},
		{"a VRF has no MAC address", "- {name: r, type: vrf, mac-address: '02:00:00:00:00:01', vrf: {port: [], route-table-id: 100}}", "r", "ethernet", "-"},
		{"a port of a VRF keeps its addresses", "- {name: r, type: vrf, vrf: {port: [a], route-table-id: 100}}\n- {name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}", "a", "ipv4", "address0=192.0.2.1/24 dhcp-timeout=2147483647 method=manual"},
		{"InfiniBand without a child's key", "- {name: ib0, type: infiniband, mac-address: '02:00:00:00:00:01', infiniband: {mode: datagram, pkey: 65535, base-iface: ''}}", "ib0", "infiniband", "transport-mode=datagram"},
		{"InfiniBand has nothing of Ethernet", "- {name: ib0, type: infiniband, mtu: 2044, infiniband: {mode: datagram}}", "ib0", "ethernet", "-"},
		{"fixed speed", "- {name: a, type: ethernet, ethernet: {auto-negotiation: false, speed: 1000, duplex: full}}", "a", "ethernet", "auto-negotiate=false duplex=full speed=1000"},
		{"a negotiated speed is not written", "- {name: a, type: ethernet, ethernet: {auto-negotiation: true, speed: 1000, duplex: full}}", "a", "ethernet", "auto-negotiate=true"},
		{"speed alone is not written", "- {name: a, type: ethernet, ethernet: {speed: 1000}}", "a", "ethernet", "-"},
		{"virtual functions", "- {name: a, type: ethernet, ethernet: {sr-iov: {total-vfs: 2, drivers-autoprobe: false, vfs: [{id: 1, mac-address: '02:aa:00:00:00:01', spoof-check: true, trust: false, min-tx-rate: 0, max-tx-rate: 100, vlan-id: 7, qos: 3, vlan-proto: 802.1ad}, {id: 0, vlan-id: 5}]}}}", "a", "sriov", "autoprobe-drivers=0 total-vfs=2 vf.0=vlans=5.0.q vf.1=mac=02:AA:00:00:00:01_spoof-check=true_trust=false_min-tx-rate=0_max-tx-rate=100_vlans=7.3.ad"},
		{"no virtual functions at all", "- {name: a, type: ethernet, ethernet: {sr-iov: {total-vfs: 0}}}", "a", "sriov", "-"},
		{"802.1X", "- {name: a, type: ethernet, 802.1x: {identity: me, eap-methods: [tls], private-key: /k, client-cert: /c, ca-cert: /ca, private-key-password: p}}", "a", "802-1x", "ca-cert=/ca client-cert=/c eap=tls; identity=me private-key=/k private-key-password=p"},
		{"a password that NMState hid when it showed the host is none", "- {name: a, type: ethernet, 802.1x: {identity: me, eap-methods: [peap], phase2-auth: mschapv2, password: '<_password_hid_by_nmstate>', private-key-password: '<_password_hid_by_nmstate>'}}", "a", "802-1x", "eap=peap; identity=me phase2-auth=mschapv2"},
		{"flags of MPTCP", "- {name: a, type: ethernet, mptcp: {address-flags: [subflow, signal]}}", "a", "connection", "autoconnect=true autoconnect-slaves=-1 id=a interface-name=a mptcp-flags=56 type=802-3-ethernet uuid=" + uuid("ethernet", "a")},
		{"MPTCP off", "- {name: a, type: ethernet, mptcp: {address-flags: []}}", "a", "connection", "autoconnect=true autoconnect-slaves=-1 id=a interface-name=a mptcp-flags=1 type=802-3-ethernet uuid=" + uuid("ethernet", "a")},
		{"a profile's name changes the file and not the UUID", "- {name: a, profile-name: up, type: ethernet, lldp: {enabled: false}}", "up", "connection", "autoconnect=true autoconnect-slaves=-1 id=up interface-name=a lldp=0 type=802-3-ethernet uuid=" + uuid("ethernet", "a")},
	})
}

func TestPairs(t *testing.T) {
	one := "- {name: v1, type: veth, veth: {peer: v2}}\n"
	checkWritten(t, []written{
		{"a pair is of type veth, and has a card's UUID", one, "v1", "connection", "autoconnect=true autoconnect-slaves=-1 id=v1 interface-name=v1 type=veth uuid=" + uuid("ethernet", "v1")},
		{"the other end comes with it", one, "v2", "connection", "autoconnect=true autoconnect-slaves=-1 id=v2 interface-name=v2 type=veth uuid=" + uuid("veth", "v2")},
		{"and leads back", one, "v2", "veth", "peer=v1"},
		{"without addresses", one, "v2", "ipv6", "addr-gen-mode=0 dhcp-timeout=2147483647 method=disabled"},
		{"unless it is declared", one + "- {name: v2, type: veth, veth: {peer: v1}, ipv4: {enabled: true, dhcp: true}}\n", "v2", "veth", "peer=v1"},
	})
	files, _ := generate(t, "d.yml", []byte("interfaces:\n"+one+"- {name: v0, type: ethernet}\n"))
	if diff := cmp.Diff([]string{"v0", "v1", "v2"}, names(files)); diff != "" {
		t.Error(diff)
	}
}

func TestAddressing(t *testing.T) {
	checkWritten(t, []written{
		{"DHCP with all options", "- {name: a, type: ethernet, ipv4: {enabled: true, dhcp: true, dhcp-client-id: iaid+duid, auto-dns: false, auto-gateway: false, auto-routes: false, auto-route-table-id: 100, auto-route-metric: 48, dhcp-custom-hostname: w0.example.org}}", "a", "ipv4",
			"dhcp-client-id=duid dhcp-fqdn=w0.example.org dhcp-send-hostname=true dhcp-timeout=2147483647 ignore-auto-dns=true ignore-auto-routes=true method=auto never-default=true route-metric=48 route-table=100"},
		{"a name without a dot goes elsewhere; another identifier is taken as it is", "- {name: a, type: ethernet, ipv4: {enabled: true, dhcp: true, dhcp-client-id: '01:02', dhcp-custom-hostname: w0}}", "a", "ipv4",
			"dhcp-client-id=01:02 dhcp-hostname=w0 dhcp-send-hostname=true dhcp-timeout=2147483647 ignore-auto-dns=false ignore-auto-routes=false method=auto never-default=false"},
		{"a name that is not sent is not written", "- {name: a, type: ethernet, ipv4: {enabled: true, dhcp: true, dhcp-send-hostname: false, dhcp-custom-hostname: w0}}", "a", "ipv4",
			"dhcp-client-id=mac dhcp-send-hostname=false dhcp-timeout=2147483647 ignore-auto-dns=false ignore-auto-routes=false method=auto never-default=false"},
		{"not enabled is disabled, regardless of other fields", "- {name: a, type: ethernet, ipv4: {dhcp: true, auto-route-metric: 1, address: [{ip: 192.0.2.1, prefix-length: 24}]}}", "a", "ipv4", "dhcp-timeout=2147483647 method=disabled"},
		{"enabled without addresses is disabled", "- {name: a, type: ethernet, ipv4: {enabled: true}}", "a", "ipv4", "dhcp-timeout=2147483647 method=disabled"},
		{"addresses with a lifetime are automatic ones", "- {name: a, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24, valid-left: 99sec}, {ip: 192.0.2.2, prefix-length: 24, valid-life-time: forever}]}}", "a", "ipv4", "address0=192.0.2.2/24 dhcp-timeout=2147483647 method=manual"},
		{"IPv6 enabled alone is link-local", "- {name: a, type: ethernet, ipv6: {enabled: true}}", "a", "ipv6", "addr-gen-mode=0 dhcp-timeout=2147483647 method=link-local"},
		{"IPv6 addresses in their usual form, without link-local ones", "- {name: a, type: ethernet, ipv6: {enabled: true, addr-gen-mode: stable-privacy, address: [{ip: 'fe80::1', prefix-length: 64}, {ip: '2001:DB8:0::A', prefix-length: 64}]}}", "a", "ipv6", "addr-gen-mode=1 address0=2001:db8::a/64 dhcp-timeout=2147483647 method=manual"},
		{"DHCPv6 without autoconf", "- {name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, dhcp-duid: llt, dhcp-custom-hostname: w0.example.org}}", "a", "ipv6",
			"addr-gen-mode=0 dhcp-duid=llt dhcp-hostname=w0.example.org dhcp-iaid=mac dhcp-send-hostname=true dhcp-timeout=2147483647 ignore-auto-dns=false ignore-auto-routes=false method=dhcp never-default=false ra-timeout=2147483647"},
		{"an empty token is none, and one in dots is written in colons", "- {name: a, type: ethernet, ipv6: {enabled: true, dhcp: true, autoconf: true, token: '::0.0.250.193'}}", "a", "ipv6",
			"addr-gen-mode=0 dhcp-duid=ll dhcp-iaid=mac dhcp-send-hostname=true dhcp-timeout=2147483647 ignore-auto-dns=false ignore-auto-routes=false method=auto never-default=false ra-timeout=2147483647 token=::fac1"},
		{"waiting for any family", "- {name: a, type: ethernet, wait-ip: any}", "a", "ipv4", "dhcp-timeout=2147483647 may-fail=true method=disabled"},
		{"waiting for the other family", "- {name: a, type: ethernet, wait-ip: ipv6, ipv6: {enabled: true}}", "a", "ipv4", "dhcp-timeout=2147483647 may-fail=true method=disabled"},
		{"the bridge of Open vSwitch never has addresses", "- {name: br, type: ovs-bridge, ipv6: {enabled: false}, bridge: {port: [{name: a}]}}", "br-br", "ipv6", "dhcp-timeout=2147483647 method=disabled"},
		{"addresses of an interface that is down stay", "- {name: a, type: ethernet, state: down, ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}}", "a", "ipv4", "address0=192.0.2.1/24 dhcp-timeout=2147483647 method=manual"},
	})
}

func TestBridgesAndBonds(t *testing.T) {
	checkWritten(t, []written{
		{"options of a bridge by NetworkManager's names", "- {name: b, type: linux-bridge, bridge: {options: {mac-ageing-time: 300, group-forward-mask: 8, group-addr: '01:80:c2:00:00:0e', hash-max: 512, multicast-router: 1, multicast-snooping: 0, vlan-protocol: 802.1q, multicast-querier-interval: 25500, stp: {enabled: true, forward-delay: 15, hello-time: 2, max-age: 20, priority: 32768}}}}", "b", "bridge",
			"ageing-time=300 forward-delay=15 group-address=01:80:C2:00:00:0E group-forward-mask=8 hello-time=2 max-age=20 multicast-hash-max=512 multicast-querier-interval=25500 multicast-router=auto multicast-snooping=false priority=32768 stp=true vlan-protocol=802.1Q"},
		{"a bridge without settings is a bridge", "- {name: b, type: linux-bridge}", "b", "bridge", ""},
		{"what a bridge knows of a port", "- {name: b, type: linux-bridge, bridge: {port: [{name: a, stp-hairpin-mode: false, stp-path-cost: 100, stp-priority: 32}]}}", "a", "bridge-port", "hairpin-mode=false path-cost=100 priority=32"},
		{"a port found by its MAC address, without settings in the bridge", "- {name: b, type: linux-bridge, bridge: {port: [{name: a}]}}\n- {name: a, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:01'}", "a", "bridge-port", "-"},
		{"a port found by its MAC address, with settings in the bridge", "- {name: b, type: linux-bridge, bridge: {port: [{name: a, stp-path-cost: 5}]}}\n- {name: a, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:01'}", "a", "bridge-port", "path-cost=5"},
		{"an empty filter is no filter", "- {name: b, type: linux-bridge, bridge: {port: [{name: a, vlan: {}}]}}", "b", "bridge", "vlan-filtering=false"},
		{"VLANs in order of their numbers", "- {name: b, type: linux-bridge, bridge: {port: [{name: a, vlan: {mode: trunk, trunk-tags: [{id-range: {min: 300, max: 310}}, {id: '20'}]}}]}}", "a", "bridge-port", "vlans=20,300-310"},
		{"all kinds of options of a bond", "- {name: b, type: bond, link-aggregation: {mode: balance-xor, options: {balance-slb: true, xmit_hash_policy: vlan+srcmac, miimon: 100, updelay: 200, tlb_dynamic_lb: false, arp_missed_max: 2, primary_reselect: 2, resend_igmp: 0}, port: [x]}}", "b", "bond",
			"balance-slb=1 miimon=100 mode=balance-xor primary_reselect=failure resend_igmp=0 tlb_dynamic_lb=0 updelay=200 xmit_hash_policy=vlan+srcmac"},
		{"LACP is a name of its mode too", "- {name: b, type: bond, link-aggregation: {mode: lacp, port: [x]}}", "b", "bond", "mode=802.3ad"},
		{"a port of a bond with only a priority", "- {name: b, type: bond, link-aggregation: {mode: 1, ports-config: [{name: x, priority: -3}]}}", "x", "bond-port", "prio=-3"},
		{"the bond's port has no addresses", "- {name: b, type: bond, link-aggregation: {mode: 1, port: [x]}}", "x", "ipv4", "-"},
		{"attached by its own word", "- {name: b, type: bond, link-aggregation: {mode: 1}}\n- {name: x, type: ethernet, controller: b}", "x", "connection", "autoconnect=true autoconnect-slaves=-1 id=x interface-name=x master=b slave-type=bond type=802-3-ethernet uuid=" + uuid("ethernet", "x")},
		{"the MAC address of another", "- {name: x, type: ethernet, mac-address: '02:00:00:00:00:01'}\n- {name: b, type: bond, copy-mac-from: x, link-aggregation: {mode: 1, port: [x]}}", "b", "ethernet", "cloned-mac-address=02:00:00:00:00:01"},
	})
}

func TestPortsThatAreIgnoredAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		why, doc string
		want     []string
	}{
		{"of a bond", "- {name: b, type: bond, link-aggregation: {mode: 1, port: [x, y]}}", []string{"b", "y"}},
		{"of a bridge", "- {name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: access, tag: 7}}, {name: y}]}}", []string{"b", "y"}},
		{"of a VRF", "- {name: b, type: vrf, vrf: {route-table-id: 7, port: [x, y]}}", []string{"b", "y"}},
		{"of Open vSwitch, with the port between", "- {name: b, type: ovs-bridge, bridge: {port: [{name: x}, {name: y}]}}", []string{"b-br", "y-port", "y"}},
		{"the only one of Open vSwitch", "- {name: b, type: ovs-bridge, bridge: {port: [{name: x}]}}", []string{"b-br", "b-port", "b-if"}},
	} {
		files, problems := generate(t, "d.yml", []byte("interfaces:\n- {name: x, type: ethernet, state: ignore}\n"+c.doc))
		if problems.HasErrors() || len(problems.Warnings()) == 0 {
			t.Errorf("%s: %v", c.why, problems)
		}
		got := names(files)
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
	checkWritten(t, []written{{"a filter that no one has is off", "- {name: x, type: ethernet, state: ignore}\n- {name: b, type: linux-bridge, bridge: {port: [{name: x, vlan: {mode: access, tag: 7}}, {name: y}]}}", "b", "bridge", "vlan-filtering=false"}})
}

func TestOpenVSwitch(t *testing.T) {
	bridge := "- {name: br, type: ovs-bridge, ovs-db: {external_ids: {a: 1}}, bridge: {options: {stp: true, rstp: false, mcast-snooping-enable: 1, fail-mode: secure, datapath: netdev}, port: [{name: i}, {name: p}, {name: d}]}}\n"
	checkWritten(t, []written{
		{"options of a bridge", bridge, "br-br", "ovs-bridge", "datapath-type=netdev fail-mode=secure mcast-snooping-enable=true rstp-enable=false stp-enable=true"},
		{"the database's keys", bridge, "br-br", "ovs-external-ids", "data.a=1"},
		{"of a member too", bridge + "- {name: i, type: ovs-interface, ovs-db: {other_config: {x: true, gone: null}}}", "i-if", "ovs-other-config", "data.x=true"},
		{"but of nothing that is not in Open vSwitch", "- {name: i, type: ethernet, ovs-db: {other_config: {x: 1}}}", "i", "ovs-other-config", "-"},
		{"a patch", bridge + "- {name: p, type: ovs-interface, patch: {peer: q}}", "p-if", "ovs-patch", "peer=q"},
		{"DPDK", bridge + "- {name: d, type: ovs-interface, dpdk: {devargs: '0000:af:00.1', rx-queue: 4, n_rxq_desc: 1024, n_txq_desc: 2048}}", "d-if", "ovs-dpdk", "devargs=0000:af:00.1 n-rxq=4 n-rxq-desc=1024 n-txq-desc=2048"},
		{"its own LACP", "- {name: br, type: ovs-bridge, bridge: {port: [{name: o, link-aggregation: {mode: lacp, port: [{name: x}, {name: y}], ovs-db: {other_config: {lacp-time: fast}}}}]}}", "o-port", "ovs-port", "lacp=active"},
		{"and keys of that bond", "- {name: br, type: ovs-bridge, bridge: {port: [{name: o, link-aggregation: {mode: lacp, port: [{name: x}, {name: y}], ovs-db: {other_config: {lacp-time: fast}}}}]}}", "o-port", "ovs-other-config", "data.lacp-time=fast"},
		{"trunks in order of their numbers", "- {name: br, type: ovs-bridge, bridge: {port: [{name: o, vlan: {mode: trunk, tag: 3, enable-native: true, trunk-tags: [{id-range: {min: 30, max: 32}}, {id: 5}]}}]}}", "o-port", "ovs-port", "tag=3 trunks=5,30-32 vlan-mode=trunk"},
		{"active backup has no LACP", "- {name: br, type: ovs-bridge, bridge: {port: [{name: o, link-aggregation: {mode: active-backup, port: [{name: x}, {name: y}]}}]}}", "o-port", "ovs-port", "bond-mode=active-backup lacp=off"},
		{"members of the bond name its port", "- {name: br, type: ovs-bridge, bridge: {port: [{name: o, link-aggregation: {mode: active-backup, port: [{name: x}, {name: y}]}}]}}", "x", "connection", "autoconnect=true autoconnect-slaves=-1 id=x interface-name=x master=o slave-type=ovs-port type=802-3-ethernet uuid=" + uuid("ethernet", "x")},
	})
}

func TestEthtool(t *testing.T) {
	checkWritten(t, []written{
		{"pauses are written only when they are not negotiated", "- {name: a, type: ethernet, ethtool: {pause: {autoneg: true, rx: true, tx: true}}}", "a", "ethtool", "pause-autoneg=true"},
		{"fixed pauses", "- {name: a, type: ethernet, ethtool: {pause: {autoneg: false, rx: true, tx: false}}}", "a", "ethtool", "pause-autoneg=false pause-rx=true pause-tx=false"},
		{"features by the kernel's names, by the command's and by both", "- {name: a, type: ethernet, ethtool: {feature: {rx-checksum: true, tx-tcp-segmentation: false, rxvlan: true, generic-receive-offload: false, tx-nocache-copy: 'true', highdma: 1}}}", "a", "ethtool", "feature-gro=false feature-highdma=true feature-rx=true feature-rxvlan=true feature-tso=false feature-tx-nocache-copy=true"},
		{"coalescing and rings", "- {name: a, type: ethernet, ethtool: {coalesce: {adaptive-rx: true, rx-usecs: 8}, ring: {rx: 256, rx-max: 4096, tx: 512}}}", "a", "ethtool", "coalesce-adaptive-rx=1 coalesce-rx-usecs=8 ring-rx=256 ring-tx=512"},
	})
}

func TestFilesAreInTheOrderOfActivation(t *testing.T) {
	for _, c := range []struct {
		why, doc string
		want     []string
	}{
		{"devices that are only mentioned are at the top, by name", "- {name: m, type: bond, link-aggregation: {mode: 1, port: [a, z]}}", []string{"a", "m", "z"}},
		{"declared ports come after their controllers", "- {name: a, type: ethernet}\n- {name: m, type: bond, link-aggregation: {mode: 1, port: [a]}}", []string{"m", "a"}},
		{"a child comes after its parent, which a bridge takes along", "- {name: br, type: linux-bridge, bridge: {port: [{name: bond}]}}\n- {name: bond, type: bond, link-aggregation: {mode: 1, port: [eno1]}}\n- {name: eno1, type: ethernet}\n- {name: a.5, type: vlan, vlan: {base-iface: bond, id: 5}}", []string{"br", "bond", "a.5", "eno1"}},
		{"a child of a device that no one mentions is at the top", "- {name: a.5, type: vlan, vlan: {base-iface: eno1, id: 5}}\n- {name: a, type: ethernet}", []string{"a", "a.5"}},
		{"children of children", "- {name: a, type: vlan, vlan: {base-iface: b, id: 5}}\n- {name: b, type: ethernet}\n- {name: c, type: vlan, vlan: {base-iface: a, id: 6}}", []string{"b", "a", "c"}},
		{"the bridge's own interface is two below it, and lists of ports decide by their place", "- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1}, {name: br-ex}]}}\n- {name: br-ex, type: ovs-interface}\n- {name: eno1, type: ethernet}", []string{"br-ex-br", "br-ex-port", "eno1-port", "br-ex-if", "eno1"}},
		{"other interfaces of Open vSwitch are one below", "- {name: br, type: ovs-bridge, bridge: {port: [{name: b}, {name: a}]}}\n- {name: b, type: ovs-interface}\n- {name: a, type: ethernet}", []string{"br-br", "a-port", "b-port", "a", "b-if"}},
		{"interfaces that are to go have no file", "- {name: a, type: ethernet, state: absent}\n- {name: b, type: ovs-bridge, state: ignore}", []string{}},
	} {
		files, problems := generate(t, "d.yml", []byte("interfaces:\n"+c.doc))
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if diff := cmp.Diff(c.want, append([]string{}, names(files)...)); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}
