package nmstate

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

const allReferences = `interfaces:
- {name: b, type: bond, copy-mac-from: up, link-aggregation: {mode: active-backup, port: [up, z], options: {primary: up}}}
- {name: c, type: bond, link-aggregation: {mode: active-backup, ports-config: [{name: up}]}}
- {name: l, type: linux-bridge, bridge: {port: [{name: up}]}}
- {name: o, type: ovs-bridge, bridge: {port: [{name: up}, {name: ob, link-aggregation: {mode: lacp, port: [{name: up}, {name: z}]}}]}}
- {name: r, type: vrf, vrf: {port: [up], route-table-id: 5}}
- {name: p, type: ethernet, controller: up}
- {name: e, type: veth, veth: {peer: up}}
- {name: pa, type: ovs-interface, patch: {peer: up}}
- {name: v, type: vlan, vlan: {id: 5, base-iface: up}}
- {name: x, type: vxlan, vxlan: {id: 5, base-iface: up}}
- {name: mv, type: mac-vlan, mac-vlan: {mode: bridge, base-iface: up}}
- {name: mt, type: mac-vtap, mac-vtap: {mode: bridge, base-iface: up}}
- {name: iv, type: ipvlan, ipvlan: {base-iface: up}}
- {name: ms, type: macsec, macsec: {base-iface: up, encrypt: true, port: 1, validation: strict, send-sci: true}}
- {name: ib, type: infiniband, infiniband: {mode: datagram, base-iface: up, pkey: 5}}
- {name: h, type: hsr, hsr: {port1: up, port2: up, multicast-spec: 1, protocol: prp}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: up}]}
route-rules: {config: [{family: ipv4, iif: up}]}
dns-resolver: {config: {server: ['fe80::1%up', 192.0.2.1]}}
ovn: {bridge-mappings: [{localnet: n, bridge: up}]}
`

func parseAll(t *testing.T) *Document {
	t.Helper()
	doc, problems := Parse("d.yml", []byte(allReferences))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

func TestARenamedInterfaceIsRenamedWhereverItIsReferredTo(t *testing.T) {
	doc := parseAll(t)
	before, _ := doc.YAML()
	renamed := doc.Renamed(map[string]string{"up": "eno1"})
	after, err := renamed.YAML()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(strings.ReplaceAll(string(before), ": up\n", ": eno1\n"), "- up\n", "- eno1\n")
	want = strings.ReplaceAll(want, "%up", "%eno1")
	if string(after) != want {
		t.Errorf("got\n%s", after)
	}
	if again, _ := doc.YAML(); string(again) != string(before) {
		t.Error("the document itself has changed")
	}
	swapped := doc.Renamed(map[string]string{"up": "z", "z": "up"})
	if got := swapped.Interfaces[0].Members(); !slices.Equal(got, []string{"z", "up"}) {
		t.Errorf("two names that change places: %q", got)
	}
}

// TestEveryNameOfAnInterfaceIsAReference finds fields that hold a name by their keys, so that a new one is not forgotten.
func TestEveryNameOfAnInterfaceIsAReference(t *testing.T) {
	known := map[string]bool{}
	for _, r := range parseAll(t).References() {
		parts := strings.Split(r.Path, ".")
		known[strings.Split(parts[len(parts)-1], "[")[0]] = true
	}
	keys := []string{"base-iface", "port", "port1", "port2", "peer", "primary", "controller", "copy-mac-from", "next-hop-interface",
		"iif", "bridge", "name"}
	var walk func(reflect.Type)
	seen := map[reflect.Type]bool{}
	walk = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || seen[v] {
			return
		}
		seen[v] = true
		for n := range v.NumField() {
			f := v.Field(n)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			named := strings.Contains(key, "iface") || strings.Contains(key, "interface") || slices.Contains(keys, key)
			kind := f.Type
			for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
				kind = kind.Elem()
			}
			// iface-name of a virtual function is reported by NMState, and is not desired.
			if named && kind.Kind() == reflect.String && key != "iface-name" && !known[key] {
				t.Errorf("%s.%s names an interface and is no reference", v.Name(), f.Name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeOf(Document{}))
}

func TestParentAndMembers(t *testing.T) {
	for _, i := range parseAll(t).Interfaces {
		switch {
		case slices.Contains([]string{"v", "x", "mv", "mt", "iv", "ms", "ib"}, i.Name) != (i.Parent() == "up"):
			t.Errorf("the parent of %s is %q", i.Name, i.Parent())
		case slices.Contains([]string{"b", "c", "l", "o", "r"}, i.Name) != slices.Contains(i.Members(), "up"):
			t.Errorf("the ports of %s are %q", i.Name, i.Members())
		}
	}
}
