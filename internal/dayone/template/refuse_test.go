package template

import (
	"strconv"
	"strings"
	"testing"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
)

// dhcp is a specification that is right, to which rows add what is wrong.
const dhcp = "role: worker\nbridge: {uplink: {interface: eno1}}\n"

func TestMistakesAreSaidWithTheirPlace(t *testing.T) {
	const static = "role: worker\nphases: [FirstBoot, PreBoot]\nbridge: {uplink: {interface: eno1}, ipv4: {method: Static, address: '${ip}', gateway: 192.0.2.1}}\n"
	for _, row := range []struct{ why, spec, place, says string }{
		{"a value that no one has", "role: worker\nbridge: {uplink: {interface: eno1}, dnsServers: ['${dns}']}", "spec.bridge.dnsServers[0]", `"${dns}"`},
		{"a value that is spelled wrongly", static + "values: {gatewey: x}\nhosts: [{name: a, values: {ipp: 192.0.2.2/24}}]", "spec.bridge.ipv4.address", "did you mean ${ipp}"},
		{"one host of two has no value", static + "hosts: [{name: a, values: {ip: 192.0.2.2/24}}, {name: b}]", "spec.bridge.ipv4.address", "host b has no value"},
		{"a part of a value that has none", dhcp + "template: {description: '${a.ip}'}\nvalues: {a: x}", "spec.template.description", "has no parts"},
		{"a part that does not exist", dhcp + "template: {description: '${a.mask}'}\nvalues: {a: 10.0.0.1/8}", "spec.template.description", "ip and prefix"},
		{"an address that is none", static + "hosts: [{name: a, values: {ip: 192.0.2.300/24}}]", "spec.bridge.ipv4.address", "not an IPv4 address"},
		{"an address of the other family", static + "hosts: [{name: a, values: {ip: '2001:db8::1/64'}}]", "spec.bridge.ipv4.address", "not an IPv4 address"},
		{"a gateway elsewhere", static + "hosts: [{name: a, values: {ip: 198.51.100.1/24}}]", "spec.bridge.ipv4.gateway", "not in the network"},
		{"two hosts with one address", static + "hosts: [{name: a, values: {ip: 192.0.2.2/24}}, {name: b, values: {ip: 192.0.2.2/24}}]", "spec.hosts[1]", "the address of br-ex in a.yml"},
		{"two hosts with one address before the boot", strings.Replace(static, "FirstBoot, ", "", 1) + "hosts: [{name: a, values: {ip: 192.0.2.2/24}}, {name: b, values: {ip: 192.0.2.2/24}}]", "spec.hosts[1]", "192.0.2.2 is the address of eno1 of a before its boot; give each host"},
		{"names that are one before the dot", dhcp + "hosts: [{name: a.x}, {name: a.y}]", "spec.hosts[1].name", "a.x is"},
		{"a name that is none", dhcp + "hosts: [{name: A_1}]", "spec.hosts[0].name", "not a host name"},
		{"one card in two hosts", dhcp + "hosts: [{name: a, macAddresses: ['52:54:00:00:00:01']}, {name: b, macAddresses: ['52-54-00-00-00-01']}]", "spec.hosts[1].macAddresses[0]", "an address of a already"},
		{"the name of a value", dhcp + "values: {host: x, 1a: y}", "spec.values[host]", "cannot be set"},
		{"a key that NMState does not know", dhcp + "template: {interfaces: [{name: eno2, typ: ethernet}]}", "spec.template", "interfaces[0].typ"},
		{"an address that all would share", "role: worker\nbridge: {uplink: {interface: eno1}, ipv4: {method: Static, address: 192.0.2.2/24, gateway: 192.0.2.1}}", "spec.bridge", "all hosts that share this file"},
		{"a host with nothing", "role: worker\nhosts: [{name: a}]", "spec.hosts[0].desiredState", "its own desiredState"},
		{"a state without br-ex", "role: worker\nhosts: [{name: a, desiredState: {interfaces: [{name: eno1, type: ethernet}]}}]", "spec.hosts[0]", "no ovs-bridge br-ex"},
		{"what only the running host knows, before it runs", "role: worker\nphases: [PreBoot]\nbridge: {uplink: {auto: DefaultRoute}}\nhosts: [{name: a}]", "spec.hosts[0]", "not available before the boot"},
		{"a VLAN without a name to make its name of", "role: worker\nbridge: {uplink: {macAddress: '52:54:00:00:00:01', vlan: {id: 5}}}", "spec.bridge.uplink.vlan.name", "Required"},
	} {
		t.Run(row.why, func(t *testing.T) {
			rendered, errs := Render(specOf(t, row.spec))
			if len(rendered.Files) > 0 || len(rendered.PreBoot) > 0 {
				t.Error("documents were made all the same")
			}
			for _, err := range errs {
				if strings.HasPrefix(err.Error(), row.place) && strings.Contains(err.Error(), row.says) {
					return
				}
			}
			t.Errorf("got %v, want %q at %s", errs, row.says, row.place)
		})
	}
}

func TestAllMistakesAreSaidAtOnce(t *testing.T) {
	_, errs := Render(specOf(t, dhcp+"values: {host: x}\nhosts: [{name: A}, {name: cluster}, {name: b, macAddresses: [x]}]"))
	if len(errs) != 4 {
		t.Errorf("got %d: %v", len(errs), errs)
	}
}

func TestStatesThatOnlyOpenVSwitchCanMakeAreNotDerived(t *testing.T) {
	const state = "role: worker\nphases: [PreBoot]\nhosts: [{name: a, desiredState: {interfaces: ["
	const internal = "{name: br-ex, type: ovs-interface, ipv4: {enabled: true, dhcp: true}}"
	for _, row := range []struct{ why, interfaces, says string }{
		{"a bond of Open vSwitch", "{name: br-ex, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {mode: balance-slb, port: [{name: eno1}, {name: eno2}]}}, {name: br-ex}]}}, " + internal, "bonds its ports"},
		{"a tag of Open vSwitch", "{name: eno1, type: ethernet}, {name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1}, {name: br-ex, vlan: {mode: access, tag: 5}}]}}, " + internal, "has a VLAN"},
		{"nothing below", "{name: br-ex, type: ovs-bridge, bridge: {port: [{name: br-ex}]}}, " + internal, "0 interfaces below"},
		{"two below", "{name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1}, {name: eno2}, {name: br-ex}]}}, " + internal, "2 interfaces below"},
		{"a card that no one describes", "{name: br-ex, type: ovs-bridge, bridge: {port: [{name: eno1}, {name: br-ex}]}}, " + internal, "does not declare"},
	} {
		_, errs := Render(specOf(t, state+row.interfaces+"]}}]"))
		if len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), row.says) {
			t.Errorf("%s: got %v, want %q", row.why, errs, row.says)
		}
	}
}

func TestReferencesArePutInOnceAndOnlyThere(t *testing.T) {
	rendered, errs := Render(specOf(t, dhcp+"template: {description: '${a}|$${a}|$a|{{ x }}|${b}'}\nvalues: {a: '${b}', b: '\"quoted\"'}"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got := string(rendered.Files[0].Content); !strings.Contains(got, `description: ${b}|${a}|$a|{{ x }}|"quoted"`) {
		t.Error(got)
	}
}

// A value can be any text: it never becomes more than a text in the document, and never stops the process.
func FuzzValues(f *testing.F) {
	f.Add("a: b\n- c")
	f.Add("192.0.2.1/24")
	f.Add("{{ capture.x }}")
	f.Fuzz(func(t *testing.T, value string) {
		spec := specOf(t, dhcp+"template: {description: '${a}'}")
		spec.Values = map[string]string{"a": value}
		rendered, errs := Render(spec)
		if len(errs) > 0 {
			return
		}
		plain := specOf(t, dhcp)
		without, _ := Render(plain)
		if got, want := strings.Count(string(rendered.Files[0].Content), "\n- name:"), strings.Count(string(without.Files[0].Content), "\n- name:"); got != want {
			t.Errorf("%q made interfaces: %s", value, rendered.Files[0].Content)
		}
	})
}

func BenchmarkRender500Hosts(b *testing.B) {
	spec := specOf(b, "role: worker\nphases: [PreBoot, FirstBoot]\nbridge: {uplink: {interface: eno1}, ipv4: {method: Static, address: '${ip}', gateway: 10.0.0.1}, dnsServers: [10.0.0.2]}\n")
	for i := range 500 {
		spec.Hosts = append(spec.Hosts, networkv1.Host{Name: "worker-" + strconv.Itoa(i), Values: map[string]string{"ip": "10.0." + strconv.Itoa(i/250+1) + "." + strconv.Itoa(i%250+1) + "/16"}})
	}
	for b.Loop() {
		rendered, errs := Render(spec)
		if len(errs) > 0 || len(rendered.Files) != 500 || len(rendered.PreBoot) != 500 {
			b.Fatal(errs)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/document")
}
