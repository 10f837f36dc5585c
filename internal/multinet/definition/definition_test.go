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

// What a definition could do to a node, or to other pods. Each row has the reason for which it is refused; restricted rows are those that only
// Restricted refuses.
func TestHostileDefinitionsAreRefused(t *testing.T) {
	for _, row := range []struct {
		why, config, want string
		restricted        bool
	}{
		{"takes the node's only interface", `{"type":"host-device","device":"eth0"}`, "would lose it", false},
		{"by its hardware address", `{"type":"host-device","hwaddr":"02:00:00:00:00:01"}`, "cannot be checked", false},
		{"by its place on the bus", `{"type":"host-device","pciBusID":"0000:00:01.0"}`, "cannot be checked", false},
		{"takes all packets of the node's interface", `{"type":"macvlan","mode":"passthru","master":"eth0"}`, "would lose it", false},
		{"the same, in other letters", `{"type":"macvlan","mode":"PassThru","master":"eth0"}`, "would lose it", false},
		{"the same, by the plugin's default", `{"type":"macvlan","mode":"passthru"}`, "must be set with mode passthru", false},
		{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"mode":"Passthru","master":"eth0"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "would lose it", false},
		{"an egress router without an address", `{"type":"egress-router","ip":{"gateway":"198.51.100.1"}}`, "spec.config.ip.addresses", false},
		{"joins the pod network", `{"type":"bridge","bridge":"cni0","ipam":{"type":"static","addresses":[{"address":"10.128.0.9/24"}]}}`, "bridge of the pod network", false},
		{"the same, by the plugin's default", `{"type":"bridge"}`, "bridge of the pod network", false},
		{"shares the address records of the pod network", `{"name":"pods","type":"bridge","bridge":"b","ipam":{"type":"host-local"}}`, "name of the pod network", false},
		{"writes files as root", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/etc/cron.d"}}`, "/var/lib/cni/networks", false},
		{"reserves addresses of pods, which are the names of files", `{"name":"10.128.0.5","type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks/pods"}}`, "ipam.dataDir: Invalid", false},
		{"the same, by tuning", `{"name":"10.128.0.5","type":"tuning","dataDir":"/var/lib/cni/networks/pods"}`, "config.dataDir: Forbidden", false},
		{"the directory of records, by another plugin", `{"type":"tuning","dataDir":"/var/lib/cni/networks"}`, "config.dataDir: Forbidden", false},
		{"name servers of another file", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","resolvConf":"/etc/resolv.conf/x"}}`, "ipam.resolvConf: Invalid", false},
		{"the same, by dots", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","dataDir":"/var/lib/cni/networks/../../../../etc"}}`, "/var/lib/cni/networks", false},
		{"the same, in other letters", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","DataDir":"/etc/cron.d"}}`, "only in its letters", false},
		{"the same, with the long s", `{"type":"macvlan","master":"eth1","ma` + "\u017f" + `ter":"eth0"}`, "only in its letters", false},
		{"the same, escaped", `{"type":"macvlan","master":"eth1","m\u0041ster":"eth0"}`, "only in its letters", false},
		{"a repeated key", `{"type":"tap","type":"bridge"}`, "repeated", false},
		{"reads a file as name servers", `{"type":"bridge","bridge":"b","ipam":{"type":"host-local","resolvConf":"/etc/shadow"}}`, "/etc/resolv.conf", false},
		{"acts as the node in the API", `{"type":"x","kubeconfig":"/var/lib/kubelet/kubeconfig"}`, "cannot name files", false},
		{"the same, deeper", `{"type":"x","ipam":{"type":"whereabouts","kubernetes":{"kubeconfig":"/k"}}}`, "cannot name files", false},
		{"writes a log over a file", `{"type":"x","logFile":"/etc/passwd"}`, "config.logFile", false},
		{"the same, in the spelling of others", `{"type":"x","log_file":"/etc/passwd"}`, "config.log_file", false},
		{"talks to a socket of its choice", `{"type":"x","socketPath":"/run/containerd/containerd.sock"}`, "cannot name files", false},
		{"the same, by the key of the shim", `{"type":"macvlan","master":"eth1","socket":"/run/containerd/containerd.sock","ipam":{"type":"whereabouts","range":"192.0.3.0/24"}}`, "config.socket", false},
		{"the same, by the key of Open vSwitch", `{"type":"x","socket_file":"unix:/run/openvswitch/db.sock"}`, "config.socket_file", false},
		{"calls the agent of the pod network", `{"type":"pod-network"}`, "cannot be used", false},
		{"the same, as an address manager", `{"type":"tap","ipam":{"type":"pod-network"}}`, "cannot be used", false},
		{"runs a program outside of the directory", `{"type":"../../bin/sh"}`, "plain name", false},
		{"the same, as an address manager", `{"type":"tap","ipam":{"type":"/bin/sh"}}`, "plain name", false},
		{"calls the shim again", `{"type":"multus-shim","delegate":{"name":"x","type":"tap"}}`, "cannot be used", false},
		{"claims an address that it does not have", `{"type":"tuning","prevResult":{"ips":[{"address":"10.128.0.9/24"}]}}`, "cannot be part", false},
		{"in a list, too", `{"plugins":[{"type":"tuning","prevResult":{}}]}`, "plugins[0].prevResult", false},
		{"gives itself values of the runtime", `{"type":"x","runtimeConfig":{"ips":["10.128.0.9/24"]}}`, "cannot be part", false},
		{"a range that has no addresses", `{"type":"tap","ipam":{"type":"whereabouts","range":"192.0.2.0/24","exclude":["192.0.2.0/24"],"first":"x"}}`, "ipam", false},
		{"a name with a path", `{"name":"../pods","type":"tap"}`, "must be letters", false},
		{"adds plugins of files", `{"loadOnlyInlinedPlugins":false,"plugins":[{"type":"tap"}]}`, "not added", false},
		{"plugins that are no list", `{"plugins":{"type":"tap"}}`, "at least one plugin", false},
		{"a plugin that is null", `{"plugins":[null]}`, "not an object", false},
		{"a plugin whose name is a list", `{"type":[]}`, "must be the name of a CNI plugin", false},
		{"a plugin whose name is an object", `{"type":{}}`, "must be the name of a CNI plugin", false},
		{"the same, in a list", `{"plugins":[{"type":[]}]}`, "plugins[0].type", false},
		{"an address manager whose name is a list", `{"type":"tap","ipam":{"type":[]}}`, "config.ipam.type", false},
		{"no plugin", `{"name":"x"}`, "must be the name of a CNI plugin", false},
		{"too large", `{"type":"` + strings.Repeat("x", MaxSize) + `"}`, "at most", false},
		{"not an object", `[]`, "not a JSON object", false},
		{"null", `null`, "not a JSON object", false},
		{"another plugin", `{"type":"ptp"}`, "supported values", true},
		{"another master", `{"type":"macvlan","master":"eth0"}`, "restricted.masters", true},
		{"the default route's master", `{"type":"macvlan"}`, "restricted.masters", true},
		{"takes all packets of a master that tenants share", `{"type":"macvlan","master":"eth1","mode":"Passthru"}`, "from the pods of all other namespaces", true},
		{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"mode":"passthru","master":"eth1"},"ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "interfaceArgs.mode: Forbidden", true},
		{"a master in the pod, which has the name of one of the node", `{"type":"macvlan","master":"eth1","linkInContainer":true}`, "config.linkInContainer", true},
		{"an egress router on another master", `{"type":"egress-router","ip":{"addresses":["198.51.100.9/24"],"gateway":"198.51.100.1"}}`, "restricted.masters", true},
		{"an egress router with the address of a pod", `{"type":"egress-router","interfaceArgs":{"master":"eth1"},"ip":{"addresses":["10.128.0.9/24"],"gateway":"10.128.0.1"}}`, "which the cluster uses", true},
		{"a bridge of another namespace", `{"type":"bridge","bridge":"br000000-x"}`, "must begin with", true},
		{"a gateway on the node", `{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","isGateway":true}`, "node itself", true},
		{"the same, in other letters", `{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","isgateway":true}`, `write "isGateway"`, true},
		{"the default gateway, in other letters", `{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","isDefaultgateway":true}`, `write "isDefaultGateway"`, true},
		{"the node's own addresses as source, in other letters", `{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","ipmasq":true}`, `write "ipMasq"`, true},
		{"the same, with the long s", `{"type":"bridge","bridge":"` + BridgePrefix("tenant") + `x","ipMa` + "\u017f" + `q":true}`, `write "ipMasq"`, true},
		{"addresses of the node alone", `{"type":"macvlan","master":"eth1","ipam":{"type":"host-local"}}`, "supported values", true},
		{"the address of a pod", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"10.128.0.9/24"}]}}`, "which the cluster uses", true},
		{"the same, by arguments, which static prefers", `{"type":"macvlan","master":"eth1","args":{"cni":{"ips":["10.128.0.9/14"]}},"ipam":{"type":"static"}}`, "config.args.cni.ips", true},
		{"the same, mapped into IPv6", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"::ffff:10.128.0.9/120"}]}}`, "which the cluster uses", true},
		{"a range of Services", `{"type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"172.30.1.1-172.30.1.9/16"}}`, "which the cluster uses", true},
		{"the address of a pod, in the network of all addresses", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"10.128.0.9/0"}]}}`, "which the cluster uses", true},
		{"the same, by an egress router", `{"type":"egress-router","interfaceArgs":{"master":"eth1"},"ip":{"addresses":["10.128.0.9/0"],"gateway":"10.128.0.1"}}`, "which the cluster uses", true},
		{"a range of all addresses, of which those of pods are the lowest left", `{"type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"0.0.0.0/0","exclude":["0.0.0.0/5","8.0.0.0/7","10.0.0.0/9"]}}`, "config.ipam.range: Invalid", true},
		{"the same, for IPv6", `{"type":"macvlan","master":"eth1","ipam":{"type":"whereabouts","range":"::/0"}}`, "config.ipam.range: Invalid", true},
		{"a range of IPv6 with the mapped addresses of pods", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","addresses":[{"address":"::5/64"}]}}`, "which the cluster uses", true},
		{"a default route by way of a pod", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","routes":[{"dst":"0.0.0.0/0","gw":"10.128.0.9"}]}}`, "routes[0].gw", true},
		{"a default route that is spelled as a pod", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","routes":[{"dst":"10.128.0.9/0"}]}}`, "routes[0].dst", true},
		{"an address that is spelled as the destination of a route", `{"type":"macvlan","master":"eth1","args":{"dst":"0.0.0.0/0"}}`, "config.args.dst", true},
		{"a route to the nodes", `{"type":"macvlan","master":"eth1","ipam":{"type":"static","routes":[{"dst":"192.0.2.0/25"}]}}`, "which the cluster uses", true},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, narrow := Parse("tenant", "x", row.config, restricted())
			_, trusted := Parse("tenant", "x", row.config, rules)
			errs := trusted
			if row.restricted {
				errs = narrow
			}
			if len(narrow) == 0 || len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), row.want) {
				t.Errorf("%v, want %q", errs.ToAggregate(), row.want)
			}
			if row.restricted && len(trusted) > 0 {
				t.Errorf("a trusted definition is refused: %v", trusted.ToAggregate())
			}
		})
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
