package hostdocument

import (
	"net/netip"
	"testing"

	"github.com/cluster-network-operator/cno/internal/dayone/docdiff"
	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/validation"
)

func parsed(t *testing.T, content string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("a.yml", []byte(content))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

func TestALiveHostBecomesADocument(t *testing.T) {
	state := livestate.State{
		Links: []livestate.Link{
			{Name: "lo", Kind: "loopback", Up: true, MTU: 65536},
			{Name: "eno1", Kind: "ethernet", Up: true, MTU: 9000, Addresses: []livestate.Address{{Prefix: netip.MustParsePrefix("192.0.2.10/24")}, {Prefix: netip.MustParsePrefix("fe80::1/64")}}},
			{Name: "eno2", Kind: "ethernet", Up: true, MTU: 1500, Controller: "bond0"},
			{Name: "bond0", Kind: "bond", Up: true, MTU: 1500, Bond: &livestate.Bond{Mode: "active-backup", Ports: []string{"eno2"}}},
			{Name: "cni0", Kind: "linux-bridge", Up: true, MTU: 1450},
		},
		Routes: []livestate.Route{
			{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Interface: "eno1", Protocol: "static", Table: 254},
			{Destination: netip.MustParsePrefix("192.0.2.0/24"), Interface: "eno1", Protocol: "kernel", Table: 254},
			{Destination: netip.MustParsePrefix("10.0.0.0/8"), Interface: "cni0", Protocol: "static", Table: 254},
		},
		DNS: livestate.DNS{Servers: []string{"192.0.2.53"}},
	}
	const want = `
interfaces:
- {name: bond0, type: bond, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}, link-aggregation: {mode: active-backup, port: [eno2]}}
- {name: eno1, type: ethernet, state: up, mtu: 9000, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: false}}
- {name: eno2, type: ethernet, state: up}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eno1}]}
dns-resolver: {config: {server: [192.0.2.53]}}
`
	content, err := FromState(state).YAML()
	if err != nil {
		t.Fatal(err)
	}
	differences, err := docdiff.Diff(parsed(t, want), parsed(t, string(content)))
	if err != nil || len(differences) > 0 {
		t.Errorf("%v %v\n%s", differences, err, content)
	}
}

func TestWhatALiveHostHasOfItsOwnIsKept(t *testing.T) {
	tag := 7
	state := livestate.State{
		Links: []livestate.Link{
			{Name: "bond0", Kind: "bond", Up: true, MTU: 1500, Controller: "br-ex", Bond: &livestate.Bond{Mode: "802.3ad", Ports: []string{"eno1"}, Options: map[string]string{"miimon": "100", "lacp_rate": "fast"}}},
			{Name: "eno1", Kind: "ethernet", Up: true, MTU: 1500, Controller: "bond0"},
			{Name: "br-ex", Kind: "tun", Up: true, MTU: 1500, MAC: "52:54:00:00:00:01", Addresses: []livestate.Address{{Prefix: netip.MustParsePrefix("192.0.2.10/24")}}},
			{Name: "tap0", Kind: "tun", Up: true, MTU: 1500},
			{Name: "v7", Kind: "vlan", Up: true, MTU: 1500, Parent: "bond0", VLAN: &livestate.VLAN{ID: 7, Protocol: "802.1ad"}},
			{Name: "veth9", Kind: "veth", Up: true, MTU: 1500},
		},
		Routes: []livestate.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Interface: "br-ex", Protocol: "static", Table: 254}},
		OVS: []livestate.Bridge{{
			Name: "br-ex", Datapath: "netdev", FailMode: "standalone", RSTP: true, ExternalIDs: map[string]string{"bridge-uplink": "bond0", "ovn-x": "1"},
			Ports: []livestate.BridgePort{
				{Name: "bond0", Interfaces: []livestate.BridgeInterface{{Name: "bond0"}}, Tag: &tag, Trunks: []int{8, 9}},
				{Name: "br-ex", Interfaces: []livestate.BridgeInterface{{Name: "br-ex", Type: "internal"}}, Tag: &tag},
			},
		}},
	}
	const want = `
interfaces:
- {name: bond0, type: bond, state: up, link-aggregation: {mode: 802.3ad, port: [eno1], options: {miimon: 100, lacp_rate: fast}}}
- {name: br-ex, type: ovs-interface, state: up, mac-address: "52:54:00:00:00:01", ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}, ipv6: {enabled: false}}
- name: br-ex
  type: ovs-bridge
  state: up
  ovs-db: {external_ids: {bridge-uplink: bond0}}
  bridge:
    options: {datapath: netdev, fail-mode: standalone, rstp: true}
    port:
    - {name: bond0, vlan: {mode: trunk, tag: 7, enable-native: true, trunk-tags: [{id: 8}, {id: 9}]}}
    - {name: br-ex, vlan: {mode: access, tag: 7}}
- {name: eno1, type: ethernet, state: up}
- {name: v7, type: vlan, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}, vlan: {base-iface: bond0, id: 7, protocol: 802.1ad}}
- {name: veth9, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: br-ex}]}
`
	content, err := FromState(state).YAML()
	if err != nil {
		t.Fatal(err)
	}
	differences, err := docdiff.Diff(parsed(t, want), parsed(t, string(content)))
	if err != nil || len(differences) > 0 {
		t.Errorf("%v %v\n%s", differences, err, content)
	}
	if problems := validation.CheckDocument(FromState(state), false); problems.HasErrors() {
		t.Errorf("it is not valid: %v", problems)
	}
}
