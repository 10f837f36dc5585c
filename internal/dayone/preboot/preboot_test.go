package preboot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatNeedsTheLiveHostIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		why, document string
		// want is the beginning of each problem, in order.
		want []string
	}{
		{"a simple document", "interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]", nil},
		{"nothing", "", nil},
		{"a bridge of Open vSwitch and its interface", `interfaces:
- {name: br-ex, type: ovs-bridge, state: up, bridge: {port: [{name: eth0}, {name: br-ex}]}}
- {name: br-ex, type: ovs-interface, state: up}
`, []string{"x.yml:2: interfaces[0].type: br-ex is of type ovs-bridge: Open vSwitch is not available before the boot",
			"x.yml:3: interfaces[1].type: br-ex is of type ovs-interface: Open vSwitch is not available before the boot"}},
		{"an absent bridge is not configured before the boot", "interfaces: [{name: br-ex, type: ovs-bridge, state: absent}]", nil},
		{"settings of Open vSwitch without a bridge", `ovs-db: {external_ids: {a: b}}
ovn: {bridge-mappings: [{localnet: a, bridge: br-ex}]}
interfaces: [{name: eth0, type: ethernet, ovs-db: {external_ids: {a: b}}}]
`, []string{"x.yml:1: ovs-db: is about Open vSwitch", "x.yml:2: ovn: is about OVN", "x.yml:3: interfaces[0].ovs-db: eth0: Open vSwitch"}},
		{"captures, templates and bridges, all at once", `capture:
  base: interfaces.name == "eth0"
desiredState:
  interfaces:
  - name: br-ex
    type: ovs-bridge
  - name: "{{ capture.base.interfaces.0.name }}"
`, []string{"x.yml:1: capture: captures the state of the live host, and before the boot the host's state is not known; set it in the document, or in the document for the first boot",
			"x.yml:6: desiredState.interfaces[0].type: is ovs-bridge: Open vSwitch",
			"x.yml:7: desiredState.interfaces[1].name: \"{{ capture.base.interfaces.0.name }}\" is taken from the live host"}},
		{"the form of captures without any", "desiredState:\n  interfaces: []\n", []string{"x.yml:1: desiredState: is the form of a document with captures"}},
		{"a template without the form", "interfaces: [{name: '{{ capture.a.b }}'}]", []string{"x.yml:1: interfaces[0].name: \"{{ capture.a.b }}\" is taken from the live host"}},
		{"a MAC address that only the host knows", "interfaces: [{name: bond0, type: dummy, copy-mac-from: eth0}, {name: eth0, type: ethernet}]",
			[]string{`x.yml:1: interfaces[0].copy-mac-from: the MAC address of "eth0" is not in the document`}},
		{"a MAC address that the document knows", "interfaces: [{name: d0, type: dummy, copy-mac-from: eth0}, {name: eth0, type: ethernet, mac-address: '02:00:00:00:00:01'}]", nil},
		{"scripts", "interfaces: [{name: eth0, type: ethernet, dispatch: {post-activation: 'echo'}}]", []string{"x.yml:1: interfaces[0].dispatch: scripts run on the live host"}},
		{"a host's name cannot be set, which is worth knowing", "hostname: {config: a.b}", []string{"x.yml:1: warning: hostname: is not set before the boot"}},
		{"mistakes that are none of this package's are reported too", "interfaces: [{nam: eth0}]", []string{"x.yml:1: "}},
		{"text that is not YAML", "a: [", []string{"x.yml:"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			doc, problems := Parse("x.yml", []byte(c.document))
			var got []string
			for i, p := range problems {
				line := p.String()
				if i < len(c.want) && strings.HasPrefix(line, c.want[i]) {
					line = c.want[i]
				}
				got = append(got, line)
			}
			if c.want != nil && c.want[0] == "x.yml:1: " {
				got = got[:1]
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if (doc == nil) != problems.HasErrors() {
				t.Errorf("document %v with problems %v", doc, problems)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("capture: {a: b}\ndesiredState: {interfaces: [{type: ovs-bridge}]}"))
	f.Add([]byte("interfaces: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if doc, problems := Parse("x", data); (doc == nil) != problems.HasErrors() {
			t.Errorf("document %v with problems %v", doc, problems)
		}
	})
}
