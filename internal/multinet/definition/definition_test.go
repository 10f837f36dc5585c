package definition

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/multinet/selection"
	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

var rules = Rules{DefaultNetwork: "pods", ReservedBridges: []string{"cni0"}, ReservedPlugins: []string{"pod-network"}, Uplinks: []string{"eth0"}}

func restricted() Rules {
	r := rules
	r.Restricted = &Restricted{Namespace: "tenant", Masters: []string{"eth1"}, Networks: []netip.Prefix{
		netip.MustParsePrefix("10.128.0.0/14"), netip.MustParsePrefix("172.30.0.0/16"), netip.MustParsePrefix("fd01::/48"), netip.MustParsePrefix("192.0.2.0/24"),
	}}
	return r
}

func parsed(t *testing.T, config string) *Definition {
	t.Helper()
	d, errs := Parse("ns", "storage", config, rules)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return d
}

func attached(t *testing.T, config, annotation string) map[string]any {
	t.Helper()
	selections, errs := selection.Parse(annotation, "ns")
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	a, errs := parsed(t, config).Attach(selections[0])
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	var list map[string]any
	if err := json.Unmarshal(a.List, &list); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(a.Runtime)
	if err != nil {
		t.Fatal(err)
	}
	list["runtime"] = json.RawMessage(raw)
	return list
}

func TestEffectiveConfiguration(t *testing.T) {
	for _, row := range []struct{ why, config, annotation, want string }{
		{"one plugin becomes a list, under the object's name", `{"cniVersion":"1.0.0","type":"macvlan","master":"eth1"}`, "storage",
			`{"cniVersion":"1.0.0","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"macvlan","master":"eth1"}],"runtime":{}}`},
		{"a version that is left out is the oldest", `{"type":"tap"}`, "storage",
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"tap"}],"runtime":{}}`},
		{"a list keeps its name", `{"cniVersion":"1.1.0","name":"n1","disableCheck":true,"plugins":[{"type":"bridge","bridge":"br-n1"},{"type":"tuning"}]}`, "storage",
			`{"cniVersion":"1.1.0","disableCheck":true,"loadOnlyInlinedPlugins":true,"name":"n1","plugins":[{"type":"bridge","bridge":"br-n1"},{"type":"tuning"}],"runtime":{}}`},
		{"addresses and hardware address are values of capabilities", `{"type":"macvlan","master":"eth1","capabilities":{"ips":true,"mac":true},"ipam":{"type":"static"}}`,
			`[{"name":"storage","ips":["192.0.2.9/24"],"mac":"02:00:00:00:00:09"}]`,
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"macvlan","master":"eth1","capabilities":{"ips":true,"mac":true},"ipam":{"type":"static"}}],` +
				`"runtime":{"ips":["192.0.2.9/24"],"mac":"02:00:00:00:00:09"}}`},
		{"a limit without a burst gets one that the plugin takes", `{"plugins":[{"type":"bridge","bridge":"br-n1"},{"type":"bandwidth","capabilities":{"bandwidth":true}}]}`,
			`[{"name":"storage","bandwidth":{"ingressRate":1000,"egressRate":50000000,"egressBurst":8000}}]`,
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"bridge","bridge":"br-n1"},{"type":"bandwidth","capabilities":{"bandwidth":true}}],` +
				`"runtime":{"bandwidth":{"ingressRate":1000,"ingressBurst":3100672,"egressRate":50000000,"egressBurst":8000}}}`},
		{"the default directory of records", `{"type":"bridge","bridge":"br-n1","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks","resolvConf":"/etc/resolv.conf"}}`, "storage",
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"bridge","bridge":"br-n1","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks","resolvConf":"/etc/resolv.conf"}}],"runtime":{}}`},
		{"arguments of the pod win", `{"type":"tuning","args":{"other":1,"cni":{"a":"d","b":"d"}}}`, `[{"name":"storage","cni-args":{"a":"p","c":{"d":1}}}]`,
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"tuning","args":{"other":1,"cni":{"a":"p","b":"d","c":{"d":1}}}}],"runtime":{}}`},
		{"an IPAMClaim is the value of a capability", `{"type":"tap","capabilities":{"ipam-claim-reference":true},"ipam":{"type":"whereabouts","range":"192.0.2.0/24"}}`, `[{"name":"storage","ipam-claim-reference":"c"}]`,
			`{"cniVersion":"0.3.1","loadOnlyInlinedPlugins":true,"name":"storage","plugins":[{"type":"tap","capabilities":{"ipam-claim-reference":true},"ipam":{"type":"whereabouts","range":"192.0.2.0/24"}}],"runtime":{"ipam-claim-reference":"c"}}`},
	} {
		t.Run(row.why, func(t *testing.T) {
			var want map[string]any
			if err := json.Unmarshal([]byte(row.want), &want); err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(attached(t, row.config, row.annotation))
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The kernel takes an alternative name for the name, and a plugin at any place of a list runs on the node.
func TestInterfacesOfTheNodeHaveTheirNames(t *testing.T) {
	r := rules
	r.Node, r.Interfaces, r.OtherNames = "n1", []string{"cni0", "eth0", "eth1"}, map[string]string{"enp1s0": "eth0", "enp2s0": "eth1", "pods0": "cni0"}
	for _, row := range []struct{ why, config, want string }{
		{"the interface", `{"type":"host-device","device":"eth1"}`, ""},
		{"another name of the uplink", `{"type":"host-device","device":"enp1s0"}`, "config.device: Invalid value: \"enp1s0\": is another name of the interface eth0 of the node n1; write eth0"},
		{"the same, as a later plugin", `{"plugins":[{"type":"tuning"},{"type":"host-device","device":"enp1s0"}]}`, "plugins[1].device"},
		{"the uplink, as a later plugin", `{"plugins":[{"type":"tuning"},{"type":"host-device","device":"eth0"}]}`, "would lose it"},
		{"one that does not exist yet, as a later plugin", `{"plugins":[{"type":"tuning"},{"type":"host-device","device":"eth7"}]}`, "no interface eth7"},
		{"the same, with all packets", `{"plugins":[{"type":"tuning"},{"type":"macvlan","mode":"passthru","master":"eth7"}]}`, "no interface eth7"},
		{"another name of the uplink, with all packets, as a later plugin", `{"plugins":[{"type":"tuning"},{"type":"macvlan","mode":"passthru","master":"enp1s0"}]}`, "is another name"},
		{"one that an earlier plugin creates", `{"plugins":[{"type":"bridge","bridge":"b"},{"type":"macvlan","master":"b"}]}`, ""},
		{"one in the pod", `{"plugins":[{"type":"tuning"},{"type":"macvlan","mode":"passthru","master":"enp1s0","linkInContainer":true}]}`, ""},
		{"another name of the pod network's bridge", `{"type":"bridge","bridge":"pods0"}`, "is another name of the interface cni0"},
		{"a bridge that the plugin creates", `{"type":"bridge","bridge":"b"}`, ""},
		{"another name, by an egress router", `{"type":"egress-router","interfaceArgs":{"mode":"passthru","master":"enp1s0"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "no interface enp1s0"},
	} {
		_, errs := Parse("ns", "x", row.config, r)
		if failed := len(errs) > 0; failed != (row.want != "") || failed && !strings.Contains(errs.ToAggregate().Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.why, errs.ToAggregate(), row.want)
		}
	}
}

func TestACapabilityThatNoPluginDeclaresIsNotDropped(t *testing.T) {
	d := parsed(t, `{"type":"macvlan","master":"eth1","capabilities":{"mac":false}}`)
	_, errs := d.Attach(selection.Selection{Name: "storage", Namespace: "ns", IPs: []string{"192.0.2.9"}, MAC: "02:00:00:00:00:01",
		PortMappings: []selection.PortMapping{{HostPort: 1, ContainerPort: 2, Protocol: "tcp"}}, Bandwidth: &selection.Bandwidth{IngressRate: 1},
		InfinibandGUID: "02:00:00:00:00:00:00:01"})
	text := errs.ToAggregate().Error()
	for _, want := range []string{"asks for ips", "asks for mac", "asks for portMappings", "asks for bandwidth", "asks for infinibandGUID", `"capabilities": {"ips": true}`, "ns/storage"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
}

// What takes a process much memory, or has an endless message: the daemons of all nodes and the operator read each definition.
func TestHostileDefinitionsAreCheap(t *testing.T) {
	const mostMemory, mostText = 48 << 20, 64 << 10 // all that is allocated, which is more than what is held at once
	list := func(n int, element func(int) string) string {
		var all []string
		for i := range n {
			all = append(all, element(i))
		}
		return strings.Join(all, ",")
	}
	key := func(i int) string { return fmt.Sprintf(`"%04x":1`, i) }
	deep := func(n int, inner string) string { return strings.Repeat(`{"x":`, n) + inner + strings.Repeat("}", n) }
	longKeys := func(inner string) string {
		return strings.Repeat(`{"`+strings.Repeat("k", MaxKey)+`":`, MaxDepth-4) + inner + strings.Repeat("}", MaxDepth-4)
	}
	for _, row := range []struct {
		why, config string
		invalid     bool
	}{
		{"thousands of errors below a long key", `{"type":"tap","` + strings.Repeat("k", 60000) + `":[` + list(6000, func(int) string { return `{"Type":1}` }) + `]}`, true},
		{"below the longest keys", `{"type":"tap","x":` + longKeys("["+list(6000, func(int) string { return `{"Type":1}` })+"]") + `}`, true},
		{"thousands of keys without an error", `{"type":"tap","x":{` + list(12000, key) + `}}`, false},
		{"thousands of keys that differ only in their letters", `{"type":"tap","x":{` + list(6000, func(i int) string { return fmt.Sprintf(`"k%04x":1,"K%04x":1`, i, i) }) + `}}`, true},
		{"repeated keys below the longest keys", `{"type":"tap","x":` + longKeys("{"+list(6000, func(int) string { return `"x":1` })+"}") + `}`, true},
		{"thousands of levels", `{"type":"tap","x":` + deep(9000, `{"Type":1}`) + `}`, true},
		{"thousands of paths", `{"type":"tap","x":[` + list(6000, func(int) string { return `{"socket":1}` }) + `]}`, true},
		{"thousands of capabilities", `{"type":"tap","capabilities":{` + list(12000, key) + `}}`, true},
		{"thousands of addresses of pods", `{"type":"macvlan","master":"eth1","args":[` + list(8000, func(int) string { return `"10.128.0.1"` }) + `]}`, true},
		{"thousands of keys that whereabouts does not have", `{"type":"tap","ipam":{"type":"whereabouts","range":"198.51.100.0/24",` + list(12000, key) + `}}`, true},
		{"thousands of exclusions of whereabouts", `{"type":"tap","ipam":{"type":"whereabouts","range":"198.51.100.0/24","exclude":[` + list(20000, func(int) string { return `"x"` }) + `]}}`, true},
		{"thousands of keys that an egress router does not have", `{"type":"egress-router","ip":{` + list(12000, key) + `}}`, true},
		{"a long version", `{"type":"tap","cniVersion":"` + strings.Repeat("1", 120000) + `"}`, true},
		{"a long plugin, master and bridge", `{"plugins":[{"type":"` + strings.Repeat("t", 30000) + `","ipam":{"type":"` + strings.Repeat("t", 30000) + `"}},{"type":"macvlan","master":"` + strings.Repeat("m", 30000) +
			`"},{"type":"bridge","bridge":"` + strings.Repeat("b", 30000) + `"}]}`, true},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, errs := Parse("tenant", "x", row.config, restricted())
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > mostMemory {
			t.Errorf("%s: %d MB are allocated", row.why, took>>20)
		}
		if text := errs.ToAggregate(); row.invalid && (text == nil || len(text.Error()) > mostText) {
			t.Errorf("%s: %d errors", row.why, len(errs))
		}
	}
}

func TestChecksOfManyKeysEnd(t *testing.T) {
	var keys strings.Builder
	for i := range 12000 {
		fmt.Fprintf(&keys, `,"%04x":1`, i)
	}
	started := time.Now()
	for range 20 {
		if _, errs := Parse("tenant", "x", `{"type":"tap"`+keys.String()+`}`, rules); len(errs) > 0 || time.Since(started) > time.Minute {
			t.Fatalf("%v after %v", errs.ToAggregate(), time.Since(started))
		}
	}
}

func TestRestrictedDefinitions(t *testing.T) {
	for _, config := range []string{
		`{"type":"macvlan","master":"eth1","ipam":{"type":"dhcp"}}`,
		`{"type":"egress-router","interfaceArgs":{"master":"eth1"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1","destinations":["80 TCP 203.0.113.1"]}}`,
		`{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"198.51.100.9/24"}],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}]}}`,
		`{"plugins":[{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","ipam":{"type":"whereabouts","range":"198.51.100.0/24"}},{"type":"bandwidth"},{"type":"sbr"}]}`,
	} {
		if _, errs := Parse("tenant", "x", config, restricted()); len(errs) > 0 {
			t.Errorf("%s: %v", config, errs.ToAggregate())
		}
	}
	taken := restricted()
	taken.Restricted.PrefixOf = "first"
	if _, errs := Parse("tenant", "x", `{"type":"bridge","bridge":"`+BridgePrefix("tenant")+`x"}`, taken); len(errs) != 1 || !strings.Contains(errs[0].Error(), "that of namespace first") {
		t.Errorf("the bridge of a namespace with the same prefix: %v", errs)
	}
	if _, errs := Parse("tenant", "x", `{"type":"macvlan","master":"eth1"}`, taken); len(errs) > 0 {
		t.Errorf("without a bridge, the prefix has no effect: %v", errs)
	}
	d, errs := Parse("tenant", "x", `{"type":"macvlan","master":"eth1","capabilities":{"ips":true},"ipam":{"type":"static"}}`, restricted())
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if _, errs := d.Attach(selection.Selection{CNIArgs: map[string]any{"ips": []any{"10.128.0.9/14"}}}); len(errs) == 0 {
		t.Error("the address of a pod is accepted in cni-args")
	}
	for _, ip := range []string{"10.128.0.9/14", "10.128.0.9/0", "10.128.0.9", "198.51.100.9/0", "::ffff:10.128.0.9/0"} {
		if _, errs := d.Attach(selection.Selection{IPs: []string{ip}}); len(errs) == 0 {
			t.Errorf("a pod asks for the address of another one by %s, and gets it", ip)
		}
	}
}

// TestPluginsThatOnlyHaveConfigurationTests covers plugins whose devices the kernels of the test machines lack: their configuration reaches the plugin
// unchanged, and a tenant may not use them with Restricted.
func TestPluginsThatOnlyHaveConfigurationTests(t *testing.T) {
	for _, row := range []struct{ why, plugin, master string }{
		{"ipvlan in mode l2", `{"ipam":{"type":"whereabouts","range":"198.51.100.0/24"},"master":"eth1","mode":"l2","type":"ipvlan"}`, "eth1"},
		{"ipvlan on an interface of the pod", `{"linkInContainer":true,"master":"net1","type":"ipvlan"}`, ""},
		{"a VLAN", `{"ipam":{"type":"dhcp"},"master":"eth1","type":"vlan","vlanId":5}`, "eth1"},
		{"a bond of the pod's interfaces", `{"linksInContainer":true,"links":[{"name":"net1"},{"name":"net2"}],"miimon":"100","mode":"active-backup","type":"bond"}`, ""},
		{"a virtual function of SR-IOV", `{"spoofchk":"on","trust":"off","type":"sriov","vlan":5}`, ""},
	} {
		config := `{"cniVersion":"1.0.0","plugins":[` + row.plugin + `]}`
		d := parsed(t, config)
		if got := d.Master(); got != row.master {
			t.Errorf("%s: the node's interface is %q, want %q", row.why, got, row.master)
		}
		var want any
		if err := json.Unmarshal([]byte(row.plugin), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{want}, attached(t, config, "storage")["plugins"]); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
		if _, errs := Parse("tenant", "x", config, restricted()); len(errs) == 0 {
			t.Errorf("%s: a tenant may use it", row.why)
		}
	}
	a, errs := parsed(t, `{"cniVersion":"1.0.0","type":"sriov"}`).Attach(selection.Selection{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if list, err := WithDevice(a.List, "0000:3b:02.1"); err != nil || !strings.Contains(string(list), `"deviceID":"0000:3b:02.1"`) {
		t.Errorf("the device that the kubelet allocated: %s, %v", list, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, config := range []string{
		`{"type":"macvlan","master":"eth1","ipam":{"type":"dhcp"}}`, `{"plugins":[{"type":"bridge"},{"type":"tuning","args":{"cni":[]}}]}`,
		`{"type":[]}`, `{"plugins":[{"type":{}},{"type":null}],"cniVersion":[],"name":{}}`, `{"type":"tap","ipam":{"type":[]},"capabilities":{"ips":[]},"args":[]}`,
	} {
		f.Add(config)
	}
	f.Add(`{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"10.128.0.9/0"}],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::ffff:0:0/96"}]}}`)
	f.Add(`{"type":"tap","x":[` + strings.Repeat(`{"Type":1},`, 40) + `{"` + strings.Repeat("k", MaxKey+1) + `":1}],"y":` + strings.Repeat("[", MaxDepth) + "1" + strings.Repeat("]", MaxDepth) + `}`)
	f.Fuzz(func(t *testing.T, config string) {
		for _, r := range []Rules{{}, rules, restricted()} {
			d, errs := Parse("tenant", "n", config, r)
			if len(errs) > strictjson.MaxErrors+1 {
				t.Errorf("%q: %d errors", config, len(errs))
			}
			if len(errs) > 0 {
				continue
			}
			a, errs := d.Attach(selection.Selection{CNIArgs: map[string]any{"a": "b"}})
			if len(errs) > 0 || !json.Valid(a.List) || d.Type() == "" || len(d.Types()) == 0 {
				t.Errorf("%q: %s %v, types %q, interface %q", config, a.List, errs, d.Types(), d.Master())
			}
		}
	})
}
