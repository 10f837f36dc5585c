package livestate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named is a host whose cards have alternative names.
func named() State {
	return State{Links: []Link{
		{Name: "eno1", Kind: "ethernet", Up: true, AltNames: []string{"enp1s0", "old"}}, {Name: "eno2", Kind: "ethernet", Up: true, AltNames: []string{"storage"}},
		{Name: "bond0", Kind: "bond", Up: true, Bond: &Bond{Mode: "active-backup"}, AltNames: []string{"lan"}},
	}}
}

func TestConcreteCallsInterfacesByTheirNames(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: enp1s0, type: ethernet, state: up, alt-names: [{name: uplink}]}
- {name: lan, state: up}
- {name: lan.7, type: vlan, vlan: {id: 7, base-iface: lan}}
- {name: storage, type: vlan, state: absent}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: enp1s0, next-hop-address: 192.0.2.1}, {next-hop-interface: storage, state: absent}]}`)
	got, err := Concrete(doc, named())
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
interfaces:
- {name: eno1, type: ethernet, state: up, alt-names: [{name: uplink}]}
- {name: bond0, state: up}
- {name: lan.7, type: vlan, vlan: {id: 7, base-iface: bond0}}
- {name: storage, type: vlan, state: absent}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1}, {next-hop-interface: storage, state: absent}]}`)
	if diff := cmp.Diff(yaml(t, want), yaml(t, got)); diff != "" {
		t.Error(diff)
	}
}

func TestAlternativeNamesThatTheHostHasElsewhereAreRefused(t *testing.T) {
	for _, row := range []struct{ why, document, want string }{
		{"another card has it", "interfaces: [{name: eno1, type: ethernet, alt-names: [{name: storage}]}]",
			"interfaces[0].alt-names[0].name: storage is an alternative name of eno2 on this host; choose another for eno1, or remove it there with state: absent"},
		{"another card has it, and keeps it", "interfaces: [{name: eno1, type: ethernet, alt-names: [{name: storage}]}, {name: bond0, type: bond, link-aggregation: {mode: active-backup}, alt-names: [{name: storage, state: absent}]}]",
			"storage is an alternative name of eno2"},
		{"it moves", "interfaces: [{name: eno1, type: ethernet, alt-names: [{name: storage}]}, {name: eno2, type: ethernet, alt-names: [{name: storage, state: absent}]}]", ""},
		{"the interface has it already", "interfaces: [{name: eno2, type: ethernet, alt-names: [{name: storage}]}]", ""},
		{"it is the name of another interface", "interfaces: [{name: eno1, type: ethernet, alt-names: [{name: bond0}]}]",
			"interfaces[0].alt-names[0].name: this host has an interface bond0; choose another name for eno1"},
		{"a new interface cannot have the name", "interfaces: [{name: storage, type: bond, link-aggregation: {mode: active-backup, port: []}}]",
			"interfaces[0].name: storage is an alternative name of eno2, which is of type ethernet and not bond; choose another name"},
		{"one interface, two entries", "interfaces: [{name: eno2, type: ethernet}, {name: storage, type: ethernet}]",
			"interfaces[1].name: storage is an alternative name of eno2, which the document has, too; write the settings of both in one entry"},
	} {
		_, err := Concrete(parse(t, row.document), named())
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.want)
		}
	}
}

func TestCompareOfAlternativeNames(t *testing.T) {
	doc := parse(t, `interfaces: [{name: eno1, type: ethernet, alt-names: [{name: enp1s0}, {name: uplink}, {name: old, state: absent}, {name: never, state: absent}]}, {name: eno2, type: ethernet, state: down, alt-names: [{name: x}]}]`)
	var got []string
	for _, d := range Compare(doc, named()) {
		got = append(got, d.String())
	}
	want := []string{
		"eno1: alternative name uplink is absent, wanted present", "eno1: alternative name old is present, wanted absent",
		"eno2: state is up, wanted down", "eno2: alternative name x is absent, wanted present",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAlternativeNamesGoAndComeBack(t *testing.T) {
	doc := parse(t, `
interfaces:
- {name: eno1, type: ethernet, alt-names: [{name: storage}, {name: enp1s0}, {name: old, state: absent}]}
- {name: eno2, type: ethernet, alt-names: [{name: storage, state: absent}]}
- {name: bond0, type: bond, state: absent}
- {name: new0, type: bond, link-aggregation: {mode: active-backup}, alt-names: [{name: fresh}]}`)
	wanted := AltNamesWanted(doc)
	remove, add := Missing(wanted, named())
	if diff := cmp.Diff([]AltNames{{Link: "eno1", Remove: []string{"old"}}, {Link: "eno2", Remove: []string{"storage"}}}, remove); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]AltNames{{Link: "eno1", Add: []string{"storage"}}, {Link: "new0", Add: []string{"fresh"}}}, add); diff != "" {
		t.Error(diff)
	}
	// bond0 was removed and made again, without its names; new0 is not there any more; another program added a name.
	after := State{Links: []Link{{Name: "eno1", AltNames: []string{"enp1s0", "storage", "another"}}, {Name: "eno2"}, {Name: "bond0"}}}
	remove, add = Missing(AltNamesBefore(doc, named()), after)
	if diff := cmp.Diff([]AltNames{{Link: "eno1", Remove: []string{"storage"}}}, remove); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]AltNames{{Link: "eno1", Add: []string{"old"}}, {Link: "eno2", Add: []string{"storage"}}, {Link: "bond0", Add: []string{"lan"}}}, add); diff != "" {
		t.Error(diff)
	}
	if remove, add := Missing(AltNamesBefore(doc, named()), named()); len(remove)+len(add) > 0 {
		t.Errorf("a host that is as it was has %v to remove and %v to add", remove, add)
	}
}
