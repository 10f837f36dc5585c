package nmstate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// iface parses one interface with the keys of a flow mapping.
func iface(t *testing.T, keys string) *Interface {
	t.Helper()
	d, problems := Parse("d.yml", []byte("interfaces: [{name: a, "+keys+"}]"))
	if d == nil {
		t.Fatalf("%s: %v", keys, problems)
	}
	return &d.Interfaces[0]
}

func TestEveryWayToWriteABooleanIsRead(t *testing.T) {
	for _, text := range []string{"true", `"true"`, "TRUE", "yes", "Yes", "on", "y", "1", `"1"`, `"YES"`} {
		if i := iface(t, "type: ethernet, ipv4: {enabled: "+text+"}"); !i.IPv4.On() {
			t.Errorf("%s is not true", text)
		}
	}
	for _, text := range []string{"false", `"False"`, "no", "off", "n", "0", `"0"`} {
		if i := iface(t, "type: ethernet, ipv4: {enabled: "+text+"}"); i.IPv4.On() || i.IPv4.Enabled == nil {
			t.Errorf("%s is not false", text)
		}
	}
}

func TestEveryWayToWriteANumberIsRead(t *testing.T) {
	for text, want := range map[string]uint64{"1400": 1400, `"1400"`: 1400, "0x578": 1400, `"0x578"`: 1400, "0o17": 15, "+9": 9, `"+9"`: 9} {
		i := iface(t, "type: ethernet, mtu: "+text)
		if i.MTU == nil || *i.MTU != want {
			t.Errorf("%s is read as %v", text, i.MTU)
		}
	}
}

func TestWordsHaveTheKernelsNumbersWhereNMStateReadsThem(t *testing.T) {
	for text, want := range map[string]string{"1": "active-backup", `"4"`: "802.3ad", "balance-xor": "balance-xor", "6": "balance-alb"} {
		if i := iface(t, "type: bond, link-aggregation: {mode: "+text+"}"); i.Bond.Mode != want {
			t.Errorf("%s is read as %s", text, i.Bond.Mode)
		}
	}
	i := iface(t, "type: bond, bond: {mode: 4, ports: [b], options: {xmit_hash_policy: 1, lacp_rate: 1, all_slaves_active: \"0\"}}")
	if o := i.Bond.Options; o.XmitHashPolicy != "layer3+4" || o.LACPRate != "fast" || o.AllSlavesActive != "dropped" || len(i.Bond.Port) != 1 {
		t.Errorf("%+v", o)
	}
}

func TestBothKindsOfBridgeHaveTheirOwnSection(t *testing.T) {
	i := iface(t, "type: linux-bridge, bridge: {options: {multicast-router: 2}, ports: [{name: b}]}")
	if i.LinuxBridge == nil || i.OVSBridge != nil || i.LinuxBridge.Options.MulticastRouter != "enabled" || len(i.LinuxBridge.Port) != 1 {
		t.Errorf("%+v", i.LinuxBridge)
	}
	i = iface(t, "type: ovs-bridge, bridge: {options: {rstp: true, fail-mode: secure}, port: [{name: b}]}")
	if i.OVSBridge == nil || i.LinuxBridge != nil || !Is(i.OVSBridge.Options.RSTP) || len(i.OVSBridge.Port) != 1 {
		t.Errorf("%+v", i.OVSBridge)
	}
}

func TestSTPOfOpenVSwitchMayBeABareBoolean(t *testing.T) {
	for _, text := range []string{"true", "{enabled: true}", `"yes"`} {
		if i := iface(t, "type: ovs-bridge, bridge: {options: {stp: "+text+"}}"); !Is(i.OVSBridge.Options.STP.Enabled) {
			t.Errorf("%s is not on", text)
		}
	}
}

func TestWhatIsNotWrittenIsNil(t *testing.T) {
	i := iface(t, "type: linux-bridge, bridge: {port: []}, mtu: null, ipv4: ~, controller: ''")
	if i.LinuxBridge.Port == nil {
		t.Error("an empty list of ports became none")
	}
	if i.MTU != nil || i.IPv4 != nil || i.AcceptAllMACAddresses != nil {
		t.Error("null is not unset")
	}
	if i.Controller == nil || *i.Controller != "" {
		t.Error("an empty controller is lost")
	}
}

func TestAnAbsentInterfaceNeedsOnlyWhatFindsIt(t *testing.T) {
	if i := iface(t, "type: vlan, state: absent, vlan: {}, nonsense: [1]"); i.State != StateAbsent || i.VLAN != nil {
		t.Errorf("%+v", i)
	}
}

func TestMACAddressesAreKeptInUpperCase(t *testing.T) {
	if i := iface(t, `type: ethernet, mac-address: "02:ab:cd:ef:00:01"`); i.MACAddress != "02:AB:CD:EF:00:01" {
		t.Error(i.MACAddress)
	}
}

func TestTextThatOldYAMLTookForANumberIsText(t *testing.T) {
	for _, text := range []string{"0123", "1_000", "2001-01-01", "no", "on"} {
		if i := iface(t, "type: ethernet, description: "+text); i.Description != text {
			t.Errorf("%s is read as %q", text, i.Description)
		}
	}
}

func TestNoBreakSpacesOfWebPagesAreSpaces(t *testing.T) {
	d, problems := Parse("d.yml", []byte("interfaces:\n-\u00a0name: a\n\u00a0\u00a0type: ethernet\n"))
	if d == nil || d.Interfaces[0].Type != TypeEthernet {
		t.Errorf("%v", problems)
	}
}

func TestAnchorsStandForWhatTheyName(t *testing.T) {
	d, problems := Parse("d.yml", []byte("interfaces:\n- {name: a, type: ethernet, ipv4: &off {enabled: false}}\n- {name: b, type: ethernet, ipv4: *off}\n"))
	if d == nil || d.Interfaces[1].IPv4 == nil {
		t.Errorf("%v", problems)
	}
}

func TestAllMistakesAreSaidAtOnceWithLineAndPath(t *testing.T) {
	_, problems := Parse("h.yml", []byte(`interfaces:
- name: eth0
  type: ethernet
  mtu: big
  ipv4:
    enabled: perhaps
    dhcpp: true
    address:
    - ip: 192.0.2.300
      prefix-length: 24
- type: bond
  vlan: {id: 5}
  link-aggregation: {mode: 9}
dns: {}
`))
	want := []string{
		`h.yml:4: interfaces[0].mtu: is "big"; a whole number from 0 to 18446744073709551615 is wanted`,
		`h.yml:6: interfaces[0].ipv4.enabled: is "perhaps"; true or false is wanted`,
		`h.yml:7: interfaces[0].ipv4.dhcpp: is not known; was dhcp meant?`,
		`h.yml:9: interfaces[0].ipv4.address[0].ip: is "192.0.2.300", which is not an IP address`,
		`h.yml:11: interfaces[1].name: is missing`,
		`h.yml:12: interfaces[1].vlan: belongs to type vlan, and this interface is of type bond`,
		`h.yml:13: interfaces[1].link-aggregation.mode: is "9"; wanted is one of balance-rr, active-backup, balance-xor, broadcast, 802.3ad, balance-tlb, balance-alb`,
		`h.yml:14: dns: is not known; known are description, dns-resolver, hostname, interfaces, ovn, ovs-db, route-rules, routes`,
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for _, c := range []struct{ why, text, says string }{
		{"not YAML", "a: [", "not YAML"},
		{"two documents", "interfaces: []\n---\ninterfaces: []\n", "a second YAML document"},
		{"a list of interfaces alone", "- name: a\n", "is a list; keys with values are wanted"},
		{"a key twice", "interfaces: []\ninterfaces: []\n", "is written twice, first on line 1"},
		{"both names of a key", "interfaces: [{name: a, type: bond, link-aggregation: {mode: 1, port: [b], ports: [c]}}]", "is port under another name"},
		{"an empty entry", "interfaces:\n-\n", "remove the dash"},
		{"a name that is a number", "interfaces: [{name: 12}]", "put it in quotes"},
		{"a nested value", "interfaces: [{name: [a]}]", "is a list; one value is wanted"},
		{"autoconf of IPv4", "interfaces: [{name: a, ipv4: {autoconf: true}}]", "is not known"},
		{"a MAC address of nothing", "interfaces: [{name: a, type: ethernet, mac-address: aa:bb}]", "is not a MAC address"},
		{"a negative number", "interfaces: [{name: a, mtu: -1}]", `is "-1"`},
		{"a number that is too large", "interfaces: [{name: a, type: vlan, vlan: {id: 70000, base-iface: b}}]", "from 0 to 65535"},
		{"captures", "capture: {}\n", "works only at first boot"},
		{"an unknown type", "interfaces: [{name: a, type: team}]", "wanted is one of bond,"},
		{"a type with two letters the wrong way round", "interfaces: [{name: a, type: bnod}]", "vxlan (was bond meant?)"},
		{"a type that the first boot cannot have", "interfaces: [{name: a, type: ipsec}]", `interfaces[0].type: is "ipsec", which needs keys from Libreswan's database`},
		{"all keys are named", "interfaces: [{name: a, nonsense: 1}]", "accept-all-mac-addresses, alt-names, bridge, controller"},
		{"a bridge's option of the other kind", "interfaces: [{name: a, type: ovs-bridge, bridge: {options: {mac-ageing-time: 3}}}]", "is not known"},
	} {
		d, problems := Parse("d.yml", []byte(c.text))
		if err := problems.Err(); d != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: document %v, %v", c.why, d != nil, err)
		}
	}
}

func TestWhatNMStateLetsPassPasses(t *testing.T) {
	for _, c := range []struct{ why, text string }{
		{"nothing", ""},
		{"only a comment", "# nothing yet\n"},
		{"null", "---\nnull\n"},
		{"what NMState reports and does not want", "interfaces: [{name: a, type: ethernet, min-mtu: 68, max-mtu: 9000, permanent-mac-address: '02:00:00:00:00:01', driver: veth, lldp: {enabled: true, neighbors: [[{type: 5}]]}}]\nroutes: {running: []}\ndns-resolver: {running: {}}"},
		{"any key of a pair's section", "interfaces: [{name: a, type: veth, veth: {peer: b, color: red}}]"},
		{"any key of a member of a bond in Open vSwitch", "interfaces: [{name: a, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: lacp, port: [{name: c, x: 1}]}}]}}]"},
		{"any scalar in Open vSwitch's database", "interfaces: [{name: a, type: ovs-interface, ovs-db: {external_ids: {a: 1, b: true, c: ~}}}]"},
		{"JSON", `{"interfaces": [{"name": "a", "type": "ethernet"}]}`},
	} {
		if d, problems := Parse("d.yml", []byte(c.text)); d == nil || len(problems) > 0 {
			t.Errorf("%s: %v", c.why, problems)
		}
	}
}

func TestKeysOfTheOtherFamilyAreWarnedOf(t *testing.T) {
	d, problems := Parse("d.yml", []byte("interfaces: [{name: a, type: ethernet, ipv4: {token: '::1'}, ipv6: {dhcp-client-id: ll}}]"))
	if d == nil || len(problems.Warnings()) != 2 {
		t.Errorf("%v", problems)
	}
}

func TestHugeDocumentsAreRefusedQuickly(t *testing.T) {
	bomb := "interfaces:\n- &a {name: a, type: vrf, vrf: {port: [" + strings.Repeat("x, ", 1000) + "x]}}\n" + strings.Repeat("- *a\n", 1000)
	for why, text := range map[string]string{
		"by its size":    "description: " + strings.Repeat("x", MaxSize),
		"by its aliases": bomb,
	} {
		if d, problems := Parse("d.yml", []byte(text)); d != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "describes one host") {
			t.Errorf("large %s: %d problems: %v", why, len(problems), problems.Err())
		}
	}
}

func TestADocumentIsReadAsItWasWritten(t *testing.T) {
	text := `
description: two cards
interfaces:
- {name: bond0, type: bond, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.5, prefix-length: 24}]}, ipv6: {enabled: false}, link-aggregation: {mode: 4, port: [a, b], options: {miimon: "100", use_carrier: true}}}
- {name: br-ex, type: ovs-bridge, bridge: {options: {stp: false}, port: [{name: bond0}, {name: br-ex, vlan: {mode: trunk, trunk-tags: [{id: 5}, {id-range: {min: 7, max: 9}}]}}]}}
- {name: br0, type: linux-bridge, bridge: {port: [{name: c}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: bond0, metric: -1}]}
ovs-db: {external_ids: {a: ~, b: 1}}
`
	first, problems := Parse("d.yml", []byte(text))
	if first == nil {
		t.Fatal(problems)
	}
	out, err := first.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, problems := Parse("d.yml", out)
	if again == nil {
		t.Fatal(problems)
	}
	second, err := again.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(out), string(second)); diff != "" {
		t.Error(diff)
	}
	if first.Line("interfaces[1].bridge.port[0].name") != 5 || first.Line("interfaces[1].nothing.here") != 5 {
		t.Error("lines are lost")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"interfaces: [{name: a, type: ethernet, ipv4: {enabled: 1, address: [{ip: 192.0.2.1, prefix-length: '24'}]}}]",
		"interfaces: [{name: a, type: ovs-bridge, bridge: {options: {stp: yes}, port: [{name: b, vlan: {trunk-tags: [{id: 1}]}}]}}]",
		"a: &a {<<: *a}", "interfaces: &i [*i]", "? [x]\n: y", "%YAML 1.1\n---\n- !!binary x",
		"routes: {config: [{destination: ::/0, metric: -1}]}\ndns-resolver: {config: {server: [fe80::1%a]}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := Parse("f", data)
		if (d == nil) != problems.HasErrors() {
			t.Fatalf("document %v, %v", d != nil, problems)
		}
		if d == nil {
			return
		}
		out, err := d.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if again, problems := Parse("f", out); again == nil {
			t.Fatalf("not read again: %v\n%s", problems, out)
		}
	})
}
