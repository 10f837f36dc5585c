package attach

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
)

// real is a fixture whose default network and further networks are of standard plugins: bridges in the test's own network namespace would
// disturb others, so that the plugins run in a namespace that stands for the node.
func real(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.own = `{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"bridge","bridge":"br-pods","isGateway":true,"isDefaultGateway":true,` +
		`"ipam":{"type":"host-local","dataDir":"` + filepath.Join(t.TempDir(), "pods") + `","ranges":[[{"subnet":"10.200.0.0/24"}],[{"subnet":"fd00:200::/64"}]]}}]}`
	f.onNode()
	return f
}

// onNode has plugins run in a namespace of their own: each is a script that enters it. Its interface up0 is a node's uplink.
func (f *fixture) onNode() {
	f.t.Helper()
	node, plugins := newNode(f.t), assets.Dir(f.t, "bridge", "macvlan", "host-local", "static")
	f.path = f.t.TempDir()
	for _, name := range []string{"bridge", "macvlan"} {
		script := "#!/bin/sh\nexec nsenter --net=" + node.Path() + " " + filepath.Join(plugins, name) + "\n"
		if err := os.WriteFile(filepath.Join(f.path, name), []byte(script), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	f.path += ":" + plugins
}

func TestAPodGetsRealInterfaces(t *testing.T) {
	f := real(t)
	f.plan = wire.Plan{Attachments: []wire.Attachment{
		{Network: "ns/macvlan", Interface: "net1", List: json.RawMessage(`{"cniVersion":"1.0.0","name":"macvlan","plugins":[{"type":"macvlan","master":"up0","mode":"bridge",` +
			`"capabilities":{"ips":true},"ipam":{"type":"static"}}]}`), Runtime: map[string]any{"ips": []string{"192.0.2.9/24", "2001:db8::9/64"}}},
		{Network: "ns/bridge", Interface: "net2", List: json.RawMessage(`{"cniVersion":"0.4.0","name":"bridge","plugins":[{"type":"bridge","bridge":"br-two","ipam":{"type":"static","addresses":[{"address":"198.51.100.9/24","gateway":"198.51.100.1"}],"routes":[{"dst":"203.0.113.0/24"}]}}]}`)},
	}}
	result := f.must(cniproto.Add, annotated)
	if len(result.IPs) != 2 || result.IPs[0].Address.IP.String() != "10.200.0.2" {
		t.Errorf("the result is not that of the default network: %+v", result)
	}
	have := f.pod.Run("ip", "-o", "address", "show")
	for _, want := range []string{"eth0    inet 10.200.0.2/24", "net1    inet 192.0.2.9/24", "net1    inet6 2001:db8::9/64", "net2    inet 198.51.100.9/24"} {
		if !strings.Contains(have, want) {
			t.Errorf("%s is missing:\n%s", want, have)
		}
	}
	report := f.reports[0]
	var names []string
	for _, n := range report.Networks {
		names = append(names, n.Name+" "+n.Interface)
		if n.MTU != 1500 {
			t.Errorf("MTU of %s is %d", n.Name, n.MTU)
		}
	}
	if diff := cmp.Diff([]string{"pods eth0", "ns/macvlan net1", "ns/bridge net2"}, names); diff != "" {
		t.Error(diff)
	}
	f.must(cniproto.Check, annotated)
	route := strings.Fields(f.pod.Run("ip", "route", "show", "203.0.113.0/24"))
	f.pod.Run(append([]string{"ip", "route", "del"}, route...)...)
	if _, err := f.do(cniproto.Check, annotated); err == nil || !strings.Contains(err.Error(), "net2 does not have the route to 203.0.113.0/24") {
		t.Errorf("CHECK: %v", err)
	}
	f.pod.Run(append([]string{"ip", "route", "add"}, route...)...)
	f.must(cniproto.Check, annotated)
	f.pod.Run("ip", "address", "del", "192.0.2.9/24", "dev", "net1")
	if _, err := f.do(cniproto.Check, annotated); err == nil || !strings.Contains(err.Error(), "does not have the address 192.0.2.9") {
		t.Errorf("CHECK: %v", err)
	}
	f.must(cniproto.Delete, annotated)
	if have := f.pod.Run("ip", "-o", "link", "show"); strings.Contains(have, "net1") || strings.Contains(have, "eth0") {
		t.Errorf("left:\n%s", have)
	}
}

// TestCheckComparesRoutesPerInterface: plugins add a route beside that of another network, so that each is compared on its own interface.
func TestCheckComparesRoutesPerInterface(t *testing.T) {
	f := real(t)
	f.plan.Attachments = []wire.Attachment{{Network: "ns/lan", Interface: "net1", List: json.RawMessage(`{"cniVersion":"0.3.1","name":"lan","plugins":[{"type":"macvlan","master":"up0",` +
		`"ipam":{"type":"static","addresses":[{"address":"192.0.2.9/24","gateway":"192.0.2.1"},{"address":"2001:db8::9/64","gateway":"2001:db8::1"}],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}]}}]}`)}}
	f.must(cniproto.Add, annotated)
	f.must(cniproto.Check, annotated)
	for family, route := range map[string]string{"-4": "0.0.0.0/0", "-6": "::/0"} {
		if have := f.pod.Run("ip", family, "route", "show", "default"); !strings.Contains(have, "dev eth0") || !strings.Contains(have, "dev net1") {
			t.Fatalf("default routes of both networks: %s", have)
		}
		f.pod.Run("ip", family, "route", "del", "default", "dev", "net1")
		if _, err := f.do(cniproto.Check, annotated); err == nil || !strings.Contains(err.Error(), "net1 does not have the route to "+route) {
			t.Errorf("CHECK without the default route %s: %v", family, err)
		}
		f.pod.Run("ip", family, "route", "append", "default", "via", map[string]string{"-4": "192.0.2.1", "-6": "2001:db8::1"}[family], "dev", "net1")
	}
}

func TestDefaultRouteIsThatOfTheRequestingNetwork(t *testing.T) {
	network := func(name, iface, addresses string) wire.Attachment {
		return wire.Attachment{Network: name, Interface: iface, List: json.RawMessage(`{"cniVersion":"1.0.0","name":"` + iface + `","plugins":[{"type":"macvlan","master":"up0","ipam":{"type":"static",` + addresses + `}}]}`)}
	}
	v4 := `"addresses":[{"address":"192.0.2.9/24","gateway":"192.0.2.1"}],"routes":[{"dst":"0.0.0.0/0"}]`
	for _, row := range []struct {
		why         string
		attachments []wire.Attachment
		// want are the interfaces of the default routes.
		want4, want6 string
	}{
		{"no network asks: the default network's stay", []wire.Attachment{network("a", "net1", `"addresses":[{"address":"192.0.2.9/24"}]`)}, "eth0", "eth0"},
		{"gateways for each family on different networks", []wire.Attachment{
			with(network("a", "net1", `"addresses":[{"address":"192.0.2.9/24"}]`), "192.0.2.1"), with(network("b", "net2", `"addresses":[{"address":"2001:db8::9/64"}]`), "2001:db8::1"),
		}, "net1", "net2"},
		{"an empty list keeps the network's own", []wire.Attachment{with(network("a", "net1", v4))}, "net1", "eth0"},
		{"an empty list, and the network has none", []wire.Attachment{with(network("a", "net1", `"addresses":[{"address":"192.0.2.9/24"}]`))}, "", "eth0"},
	} {
		t.Run(row.why, func(t *testing.T) {
			f := real(t)
			f.plan.Attachments = row.attachments
			result := f.must(cniproto.Add, annotated)
			for family, want := range map[string]string{"-4": row.want4, "-6": row.want6} {
				var have []string
				for line := range strings.Lines(f.pod.Run("ip", family, "route", "show", "default")) {
					if _, after, ok := strings.Cut(line, " dev "); ok && !strings.HasPrefix(line, "unreachable") {
						have = append(have, strings.Fields(after)[0])
					}
				}
				if strings.Join(have, ",") != want {
					t.Errorf("default route %s: %v, want %s", family, have, want)
				}
				inResult := false
				for _, r := range result.Routes {
					inResult = inResult || isDefault(r.Dst, family == "-4")
				}
				if inResult != (want == "eth0") {
					t.Errorf("the result of the default network has the default route %s: %v", family, inResult)
				}
			}
			saved, err := ReadSaved(f.shim.State)
			if err != nil || len(saved) != 1 {
				t.Fatalf("saved: %+v %v", saved, err)
			}
			for i, n := range saved[0].Networks {
				if diff := cmp.Diff(routesOf(t, f.reports[0].Networks[i].Result), routesOf(t, n.Result)); diff != "" {
					t.Errorf("routes of %s on the disk and in the report: %s", n.Name, diff)
				}
			}
			f.must(cniproto.Check, annotated)
			f.must(cniproto.Delete, annotated)
		})
	}
}

// routesOf returns the routes of a result as text.
func routesOf(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var result struct{ Routes []types.Route }
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, r := range result.Routes {
		routes = append(routes, r.String())
	}
	return routes
}

// TestCheckComparesDefaultRoutesOfFurtherNetworks: the routes that the shim has set are compared, and the plugins' own CHECK runs with them.
func TestCheckComparesDefaultRoutesOfFurtherNetworks(t *testing.T) {
	f := real(t)
	f.plan.Attachments = []wire.Attachment{
		with(wire.Attachment{Network: "ns/four", Interface: "net1", List: json.RawMessage(`{"cniVersion":"1.0.0","name":"four","plugins":[{"type":"macvlan","master":"up0",` +
			`"ipam":{"type":"static","addresses":[{"address":"192.0.2.9/24","gateway":"192.0.2.7"}],"routes":[{"dst":"0.0.0.0/0"},{"dst":"203.0.113.0/24"}]}}]}`)}, "192.0.2.1", "192.0.2.2"),
		with(wire.Attachment{Network: "ns/six", Interface: "net2", List: json.RawMessage(`{"cniVersion":"0.4.0","name":"six","plugins":[{"type":"macvlan","master":"up0",` +
			`"ipam":{"type":"static","addresses":[{"address":"2001:db8::9/64"}]}}]}`)}, "2001:db8::1", "2001:db8::2"),
	}
	f.must(cniproto.Add, annotated)
	f.must(cniproto.Check, annotated)
	for _, row := range []struct {
		// lost and restored are the arguments of ip.
		lost, restored, want string
	}{
		{"route del default via 192.0.2.1", "route append default via 192.0.2.1", "net1 does not have the route to 0.0.0.0/0"},
		{"route del default via 192.0.2.2", "route append default via 192.0.2.2", "net1 does not have the route to 0.0.0.0/0"},
		{"route del 203.0.113.0/24", "route add 203.0.113.0/24 via 192.0.2.7", "net1 does not have the route to 203.0.113.0/24"},
		{"-6 route del default via 2001:db8::2 dev net2", "-6 route append default via 2001:db8::2 dev net2", "net2 does not have the route to ::/0"},
		{"link set eth0 address 02:00:00:00:00:01", "", "pods (interface eth0): Interface eth0 Mac"},
	} {
		f.pod.Run(append([]string{"ip"}, strings.Fields(row.lost)...)...)
		if _, err := f.do(cniproto.Check, annotated); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("CHECK after ip %s: %v", row.lost, err)
		}
		if row.restored != "" {
			f.pod.Run(append([]string{"ip"}, strings.Fields(row.restored)...)...)
			f.must(cniproto.Check, annotated)
		}
	}
}

func with(a wire.Attachment, gateways ...string) wire.Attachment {
	a.DefaultRoute, a.Gateways = true, addrs(gateways...)
	return a
}
