package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// live is a host with a card that has the default route, and one without.
const live = `
interfaces:
- {name: ens3, type: ethernet, state: up, mtu: 9000, mac-address: "52:54:00:AA:00:01", permanent-mac-address: "52:54:00:AA:00:09", ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.5, prefix-length: 24}]}}
- {name: ens4, type: ethernet, state: up, mac-address: "52:54:00:AA:00:02"}
- {name: bond0, type: bond, state: up}
routes:
  running:
  - {destination: 0.0.0.0/0, next-hop-interface: ens3, next-hop-address: 192.0.2.1, table-id: 254}
  - {destination: 198.51.100.0/24, next-hop-interface: ens3, next-hop-address: 192.0.2.2, table-id: 254}
  - {destination: 203.0.113.0/24, next-hop-interface: ens4, next-hop-address: 192.0.2.3, table-id: 254}
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: ens3, next-hop-address: 192.0.2.1, table-id: 254}
dns-resolver: {running: {server: [192.0.2.53]}, config: {server: [192.0.2.53]}}
`

func parse(t *testing.T, text string) *nmstate.Document {
	t.Helper()
	d, problems := nmstate.Parse("live.yml", []byte(text))
	if d == nil {
		t.Fatal(problems)
	}
	return d
}

func stateOf(t *testing.T, document *nmstate.Document) State {
	t.Helper()
	state, err := StateOf(document)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestCapturesFillTheDesiredState(t *testing.T) {
	for _, c := range []struct{ why, policy, want string }{
		{"a document without captures is unchanged", `
interfaces: [{name: ens3, type: ethernet, state: up}]`, `
interfaces: [{name: ens3, type: ethernet, state: up}]`},
		{"desiredState alone is a policy too", `
desiredState: {interfaces: [{name: ens3, type: ethernet, state: up}]}`, `
interfaces: [{name: ens3, type: ethernet, state: up}]`},
		{"the card with the default route, found through another capture written after it", `
capture:
  uplink: interfaces.name == capture.default.routes.running.0.next-hop-interface
  default: routes.running.destination == "0.0.0.0/0"
desiredState:
  interfaces:
  - {name: br1, type: linux-bridge, state: up, mtu: "{{ capture.uplink.interfaces.0.mtu }}", mac-address: "{{ capture.uplink.interfaces.0.mac-address }}", bridge: {port: [{name: "{{ capture.uplink.interfaces.0.name }}"}]}}`, `
interfaces:
- {name: br1, type: linux-bridge, state: up, mtu: 9000, mac-address: "52:54:00:AA:00:01", bridge: {port: [{name: ens3}]}}`},
		{"a pipe that moves routes to another interface, as a list in one piece", `
capture:
  moved: routes.running.next-hop-interface == "ens3" | routes.running.next-hop-interface := "br1"
desiredState: {routes: {config: "{{ capture.moved.routes.running }}"}}`, `
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: br1, next-hop-address: 192.0.2.1, table-id: 254}
  - {destination: 198.51.100.0/24, next-hop-interface: br1, next-hop-address: 192.0.2.2, table-id: 254}`},
		{"a pipe that begins with a capture, and a route to remove", `
capture:
  all: routes.running.next-hop-interface == "ens3"
  gone: capture.all | routes.running.state := "absent"
desiredState: {routes: {config: "{{ capture.gone.routes.running }}"}}`, `
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: ens3, next-hop-address: 192.0.2.1, table-id: 254, state: absent}
  - {destination: 198.51.100.0/24, next-hop-interface: ens3, next-hop-address: 192.0.2.2, table-id: 254, state: absent}`},
		{"a MAC address in lower case finds its card; the name is part of another text", `
capture: {nic: 'interfaces.mac-address == "52:54:00:aa:00:02"'}
desiredState: {interfaces: [{name: "{{ capture.nic.interfaces.0.name }}.7", type: vlan, state: up, vlan: {id: 7, base-iface: "{{capture.nic.interfaces.0.name}}"}}]}`, `
interfaces: [{name: ens4.7, type: vlan, state: up, vlan: {id: 7, base-iface: ens4}}]`},
		{"a capture on the left, as in NMState's example all-ethernet-up: an entry without the object gets one", `
capture:
  ethernets: interfaces.type=="ethernet"
  ethernets-up: capture.ethernets.interfaces.state=="up"
  ethernets-lldp: capture.ethernets-up | interfaces.lldp.enabled:=true
  plain: capture.ethernets-lldp | interfaces.ipv4 := null
  plainer: capture.plain.interfaces.mtu := NULL
  plainest: capture.plainer | interfaces.permanent-mac-address := null
  nothing: capture.plainest | interfaces.ethtool.ring := null
desiredState: {interfaces: "{{ capture.nothing.interfaces }}"}`, `
interfaces:
- {name: ens3, type: ethernet, state: up, mac-address: "52:54:00:AA:00:01", lldp: {enabled: true}}
- {name: ens4, type: ethernet, state: up, mac-address: "52:54:00:AA:00:02", lldp: {enabled: true}}`},
		{"the route of a card that its MAC address names, as in NMState's example search_route_on_mac", `
capture:
  ethernets: interfaces.type=="ethernet"
  card: capture.ethernets.interfaces.mac-address=="52:54:00:AA:00:02"
  routes: routes.running.next-hop-interface == capture.card.interfaces.0.name
desired: {routes: {config: "{{ capture.routes.routes.running }}"}}`, `
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: ens4, next-hop-address: 192.0.2.3, table-id: 254}]}`},
		{"a regular expression with characters that are operators elsewhere", `
capture:
  cards: interfaces.name =~ "^(ens4|==|:=)$"
desiredState: {interfaces: [{name: br1, type: linux-bridge, state: up, bridge: {port: [{name: "{{ capture.cards.interfaces.0.name }}"}]}}]}`, `
interfaces: [{name: br1, type: linux-bridge, state: up, bridge: {port: [{name: ens4}]}}]`},
		{"a regular expression matches a number as its text", `
capture: {jumbo: 'interfaces.mtu =~ "^9...$"'}
desiredState: {interfaces: [{name: "{{ capture.jumbo.interfaces.0.name }}", type: ethernet, state: down}]}`, `
interfaces: [{name: ens3, type: ethernet, state: down}]`},
		{"a path below a capture keeps the form of a state", `
capture: {all: interfaces.type == "bond", bonds: capture.all.interfaces}
desiredState: {interfaces: "{{ capture.bonds.interfaces }}"}`, `
interfaces: [{name: bond0, type: bond, state: up}]`},
		{"a path alone, and an object in one piece", `
capture: {names: dns-resolver.running, addresses: interfaces.ipv4.address.ip == "192.0.2.5"}
desiredState:
  dns-resolver: {config: "{{ capture.names.dns-resolver.running }}"}
  interfaces: [{name: br-ex, type: ethernet, state: up, ipv4: "{{ capture.addresses.interfaces.0.ipv4 }}"}]`, `
dns-resolver: {config: {server: [192.0.2.53]}}
interfaces: [{name: br-ex, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.5, prefix-length: 24}]}}]`},
	} {
		p, problems := Parse("p.yml", []byte(c.policy))
		if p == nil {
			t.Errorf("%s: %v", c.why, problems)
			continue
		}
		doc, problems := p.Resolve(stateOf(t, parse(t, live)))
		if doc == nil {
			t.Errorf("%s: %v", c.why, problems)
			continue
		}
		got, err := doc.YAML()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := parse(t, c.want).YAML()
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s:\n%s", c.why, diff)
		}
	}
}

func TestWhatCannotBeResolvedIsSaidWithItsLine(t *testing.T) {
	for _, c := range []struct{ why, policy, line string }{
		{"no such card", "capture: {a: interfaces.name == \"ens9\"}\ndesiredState:\n  interfaces: [{name: \"{{ capture.a.interfaces.0.name }}\"}]", `p.yml:3: desiredState.interfaces[0].name: refers to interfaces of capture.a, which found nothing on this host`},
		{"one entry too far", "capture: {a: interfaces.type == \"bond\"}\ndesiredState:\n  interfaces: [{name: \"{{ capture.a.interfaces.1.name }}\"}]", `p.yml:3: desiredState.interfaces[0].name: refers to entry 1 of capture.a.interfaces, which has 1`},
		{"a key the card does not have", "capture: {a: interfaces.type == \"bond\"}\ndesiredState:\n  interfaces: [{name: \"{{ capture.a.interfaces.0.mtu }}\"}]", `refers to mtu of capture.a.interfaces.0, which the host does not have`},
		{"an unknown capture", "capture: {a: interfaces}\ndesiredState: {interfaces: [{name: \"{{ capture.b.x }}\"}]}", `refers to capture "b", which does not exist; there are a`},
		{"a template of something else", "capture: {a: interfaces}\ndesiredState: {interfaces: [{name: \"{{ interfaces.0.name }}\"}]}", `a reference begins with capture`},
		{"a list inside a text", "capture: {a: interfaces}\ndesiredState: {interfaces: [{name: \"x{{ capture.a.interfaces }}\"}]}", `has a list or an object inside a text`},
		{"captures that go in a circle", "capture:\n  a: interfaces.name == capture.b.interfaces.0.name\n  b: interfaces.name == capture.a.interfaces.0.name\ndesiredState: {}", "p.yml:2: capture.a: refers to a capture that does not exist, or that refers back to it"},
		{"no quotes", "capture: {a: interfaces.name == ens3}\ndesiredState: {}", `p.yml:1: capture.a: compares with ens3; put text in quotes`},
		{"an unfinished quote", "capture: {a: 'interfaces.name == \"ens3'}\ndesiredState: {}", `has a quote that is not closed`},
		{"no value", "capture: {a: interfaces.name ==}\ndesiredState: {}", `has no value after its operator`},
		{"an unknown root", "capture: {a: links.name}\ndesiredState: {}", `begins with "links"`},
		{"a capture alone on the left", "capture: {a: interfaces, b: capture.a == \"x\"}\ndesiredState: {}", `has the capture a without a path below it on the left of ==`},
		{"an unknown root below a capture", "capture: {a: interfaces, b: capture.a.links.name == \"x\"}\ndesiredState: {}", `begins with "links"`},
		{"a number on the left", "capture: {a: interfaces.0.name}\ndesiredState: {}", `has the number 0 on the left`},
		{"a comparison with null", "capture: {a: interfaces.mtu == null}\ndesiredState: {}", `compares with null`},
		{"a regular expression without quotes", "capture: {a: interfaces.name =~ ^ens}\ndesiredState: {}", `put the regular expression in quotes`},
		{"a regular expression that is none", "capture: {a: interfaces.name =~ '('}\ndesiredState: {}", `regular expression that cannot be read`},
		{"both spellings of the desired state", "desiredState: {}\ndesired: {}", `p.yml:2: desired: is the same as the other`},
		{"keys of a document beside it", "capture: {}\ninterfaces: []", `p.yml:2: interfaces: is not a known key; only capture and desiredState are`},
		{"a capture that is no text", "capture: {a: [1]}", `capture.a: is not an expression`},
		{"a list of captures", "capture: [a]", `is not an object`},
		{"what was filled in is checked", "capture: {a: interfaces}\ndesiredState:\n  interfaces:\n  - {name: a, ipv5: {}}", `p.yml:4: interfaces[0].ipv5: is not known`},
	} {
		p, problems := Parse("p.yml", []byte(c.policy))
		if p != nil {
			_, problems = p.Resolve(stateOf(t, parse(t, live)))
		}
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func TestCapturesNeedALiveState(t *testing.T) {
	p, _ := Parse("p.yml", []byte("capture: {a: interfaces}\ndesiredState: {}"))
	if !p.NeedsHost() {
		t.Error("it does not say so")
	}
	if doc, problems := p.Resolve(State{}); doc != nil || !problems.HasErrors() {
		t.Errorf("%v, %v", doc, problems)
	}
	p, _ = Parse("p.yml", nil)
	if doc, problems := p.Resolve(State{}); doc == nil || p.NeedsHost() {
		t.Errorf("an empty policy needs a host: %v", problems)
	}
}

func TestResolvingLeavesTheLiveStateAlone(t *testing.T) {
	state := parse(t, live)
	before, _ := state.YAML()
	p, _ := Parse("p.yml", []byte(`
capture: {a: routes.running.next-hop-interface := "x", b: routes.running.next-hop-interface == "ens3"}
desiredState: {routes: {config: "{{ capture.b.routes.running }}"}}`))
	doc, problems := p.Resolve(stateOf(t, state))
	if doc == nil || len(doc.Routes.Config) != 2 {
		t.Errorf("one capture changed what another sees: %v %v", doc, problems)
	}
	if after, _ := state.YAML(); string(after) != string(before) {
		t.Error(cmp.Diff(string(before), string(after)))
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add("capture: {a: 'interfaces.name == \"ens3\" | routes.running.x := 1'}\ndesiredState: {interfaces: [{name: '{{ capture.a.interfaces.0.name }}'}]}")
	f.Add("capture: {a: 'interfaces.name =~ \"^e\" | interfaces.lldp.enabled := null', b: 'capture.a.interfaces.mtu := 1'}\ndesiredState: '{{ capture.b }}'")
	f.Add("capture: {a: capture.b | interfaces, b: interfaces}\ndesiredState: '{{ capture.a }}'")
	document, _ := nmstate.Parse("", []byte(live))
	state, err := StateOf(document)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, problems := Parse("f", []byte(text))
		if (p == nil) != problems.HasErrors() {
			t.Fatalf("policy %v, %v", p, problems)
		}
		if p == nil {
			return
		}
		doc, problems := p.Resolve(state)
		if (doc == nil) != problems.HasErrors() {
			t.Fatalf("document %v, %v", doc, problems)
		}
	})
}
