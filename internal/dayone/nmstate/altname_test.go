package nmstate

import (
	"slices"
	"strings"
	"testing"
)

func TestReferencesByAnAlternativeNameUseTheInterfacesOwn(t *testing.T) {
	doc, problems := Parse("d.yml", []byte(`
interfaces:
- {name: eno1, type: ethernet, alt-names: [{name: the-port-of-the-storage-network}, {name: uplink}, {name: old, state: absent}]}
- {name: card, type: ethernet, identifier: mac-address, mac-address: "52:54:00:00:00:01", alt-names: [{name: card}, {name: second}]}
- {name: eno3, type: ethernet, alt-names: [{name: old}]}
- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [the-port-of-the-storage-network, second], options: {primary: uplink}}, alt-names: [{name: lan}]}
- {name: lan.7, type: vlan, vlan: {id: 7, base-iface: lan}}
- {name: gone, type: bond, state: absent}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: lan, next-hop-address: 192.0.2.1}]}
route-rules: {config: [{iif: uplink, ip-from: 192.0.2.0/24}, {iif: old, ip-from: 192.0.3.0/24}]}
dns-resolver: {config: {server: ["fe80::1%uplink"]}}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, r := range doc.References() {
		got = append(got, r.Path+"="+r.Name)
	}
	want := []string{
		"interfaces[3].link-aggregation.port[0]=eno1", "interfaces[3].link-aggregation.port[1]=card", "interfaces[3].link-aggregation.options.primary=eno1",
		"interfaces[4].vlan.base-iface=bond0", "routes.config[0].next-hop-interface=bond0", "route-rules.config[0].iif=eno1", "route-rules.config[1].iif=eno3",
		"dns-resolver.config.server[0]=eno1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("references\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if line := doc.Line("routes.config[0].next-hop-interface"); line != 9 {
		t.Errorf("line %d after the names were replaced", line)
	}
	text, err := doc.YAML()
	if err != nil || !strings.Contains(string(text), "- name: old\n        state: absent") {
		t.Errorf("%v\n%s", err, text)
	}
	if again, problems := Parse("d.yml", text); len(problems) > 0 || len(again.Interfaces[0].AltNames) != 3 {
		t.Errorf("the written document cannot be read: %v", problems)
	}
}

func TestAlternativeNamesThatCannotBe(t *testing.T) {
	const card = "interfaces: [{name: a, type: ethernet, alt-names: ["
	for _, row := range []struct{ why, document, want string }{
		{"the interface has it already", card + "{name: a}]}]", `d.yml:1: interfaces[0].alt-names[0].name: is "a"; that is the name of the interface itself; choose another, or remove it`},
		{"one name is of one interface", card + "{name: x}]}, {name: b, type: ethernet, alt-names: [{name: x}]}]",
			`interfaces[1].alt-names[0].name: is "x"; that is an alternative name of another interface (interfaces[0].alt-names[0].name); choose another`},
		{"an interface has one entry", card + "{name: b}]}, {name: b, type: ethernet}]", `is "b"; that is the name of another interface (interfaces[1]); choose another, or write the settings of both in one entry`},
		{"added and removed", card + "{name: x}, {name: x, state: absent}]}]", `interfaces[0].alt-names[1].name: is "x"; this interface lists it twice; remove one of the two`},
		{"longer than the kernel's limit", card + "{name: " + strings.Repeat("x", 128) + "}]}]", "an alternative name has at most 127 letters"},
		{"udev refuses it", card + "{name: 'a:b'}]}]", `is "a:b"; an alternative name has letters of ASCII, and no space, slash, colon or percent sign`},
		{"a number is an index", card + "{name: '12'}]}]", `is "12"; a name of digits only is the number of an interface; add a letter`},
		{"a directory of sysctls", card + "{name: default}]}]", "the kernel uses that name itself"},
		{"empty", card + "{name: ''}]}]", "a name has at least one letter"},
		{"text in place of an entry, as in no version of NMState", card + "x]}]", `interfaces[0].alt-names[0]: is "x"; keys with values are wanted`},
		{"an unknown state", card + "{name: x, state: present}]}]", "interfaces[0].alt-names[0].state"},
		{"a bridge of Open vSwitch is no device", "interfaces: [{name: b, type: ovs-bridge, alt-names: [{name: x}]}]",
			"interfaces[0].alt-names: belongs to an interface of the kernel, and b of type ovs-bridge is none; write it at the network card, or at the ovs-interface of the bridge"},
		{"nor is a patch", "interfaces: [{name: p, type: ovs-interface, patch: {peer: q}, alt-names: [{name: x}]}]", "p of type ovs-interface is none"},
	} {
		doc, problems := Parse("d.yml", []byte(row.document))
		if err := problems.Err(); doc != nil || err == nil || !strings.Contains(err.Error(), row.want) || len(problems) != 1 {
			t.Errorf("%s: got %v, want %q", row.why, problems, row.want)
		}
	}
}

func TestInterfacesThatGoHaveNoAlternativeNames(t *testing.T) {
	for _, state := range []string{"absent", "ignore"} {
		doc, problems := Parse("d.yml", []byte("interfaces: [{name: a, type: bond, state: "+state+", alt-names: [{name: b}]}, {name: b, type: ethernet}, {name: c, type: vlan, vlan: {id: 1, base-iface: b}}]"))
		if len(problems) > 0 || doc.Interfaces[2].VLAN.BaseIface != "b" {
			t.Errorf("%s: %v", state, problems)
		}
	}
}
