package kargs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func parse(t *testing.T, text string) *nmstate.Document {
	t.Helper()
	doc, problems := nmstate.Parse("w.yml", []byte(text))
	if doc == nil {
		t.Fatal(problems)
	}
	return doc
}

// rows are documents, their arguments, and lines of what NetworkManager's own reader makes of these.
var rows = []struct{ why, document, args, reads string }{
	{"static addresses of both families", `
interfaces:
- {name: eno1, type: ethernet, state: up, mtu: 1400, ipv4: {enabled: true, address: [{ip: 10.0.0.5, prefix-length: 24}]}, ipv6: {enabled: true, address: [{ip: "2001:db8::5", prefix-length: 64}]}}
dns-resolver: {config: {server: [10.0.0.53, "2001:db8::53"]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.0.1, next-hop-interface: eno1}, {destination: "::/0", next-hop-address: "2001:db8::1", next-hop-interface: eno1}, {destination: 10.9.0.0/16, next-hop-address: 10.0.0.2, next-hop-interface: eno1}, {destination: "2001:db8:9::/48", next-hop-address: "2001:db8::2", next-hop-interface: eno1}]}`,
		"ip=10.0.0.5::10.0.0.1:24:w:eno1:none:1400 ip=[2001:db8::5]::[2001:db8::1]:64:w:eno1:none:1400 rd.route=10.9.0.0/16:10.0.0.2:eno1 rd.route=[2001:db8:9::/48]:[2001:db8::2]:eno1 nameserver=10.0.0.53 nameserver=[2001:db8::53]",
		"interface-name=eno1\nmtu=1400\naddress1=10.0.0.5/24,10.0.0.1\naddress1=2001:db8::5/64,2001:db8::1\nroute1=10.9.0.0/16,10.0.0.2\nroute1=2001:db8:9::/48,2001:db8::2\ndns=10.0.0.53;\ndns=2001:db8::53;"},
	{"DHCP on a VLAN", `
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: eno1.7, type: vlan, state: up, vlan: {id: 7, base-iface: eno1}, ipv4: {enabled: true, dhcp: true}, ipv6: {enabled: true, dhcp: true, autoconf: true}}`,
		"vlan=eno1.7:eno1 ip=eno1.7:dhcp", "type=vlan\nid=7\nparent=eno1\nmethod=auto"},
	{"a bond, the first address has the gateway", `
interfaces:
- {name: bond0, type: bond, state: up, mtu: 9000, link-aggregation: {mode: active-backup, options: {miimon: 100, primary: eno1}, port: [eno1, eno2]}, ipv4: {enabled: true, address: [{ip: 10.0.0.5, prefix-length: 24}, {ip: 10.1.0.5, prefix-length: 24}]}}
routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 10.0.0.1, next-hop-interface: bond0}]}`,
		"bond=bond0:eno1,eno2:mode=active-backup,miimon=100,primary=eno1:9000 ip=10.0.0.5::10.0.0.1:24:w:bond0:none ip=10.1.0.5:::24:w:bond0:none",
		"type=bond\nmode=active-backup\nmiimon=100\nprimary=eno1\nmtu=9000\naddress1=10.0.0.5/24,10.0.0.1\naddress2=10.1.0.5/24"},
	{"a card by its MAC address, with router advertisements", `
interfaces:
- {name: up0, type: ethernet, state: up, identifier: mac-address, mac-address: "52:54:00:AA:00:01", ipv4: {enabled: false}, ipv6: {enabled: true, dhcp: true, autoconf: true}}`,
		"ifname=up0:52:54:00:aa:00:01 ip=up0:auto6", "interface-name=up0\nmethod=disabled\nmethod=auto"},
	{"a Linux bridge whose port is listed, with nothing of IPv4", `
interfaces:
- {name: br0, type: linux-bridge, state: up, bridge: {options: {stp: {enabled: false}}, port: [{name: eno1}]}, ipv6: {enabled: true, dhcp: false, autoconf: false}}
- {name: eno1, type: ethernet, state: up}`,
		"bridge=br0:eno1 ip=br0:link6", "type=bridge\nstp=false\nmethod=link-local\nslave-type=bridge"},
	{"nothing", `interfaces: []`, "", ""},
}

func TestDocumentsBecomeArguments(t *testing.T) {
	for _, row := range rows {
		args, problems := Arguments("w", parse(t, row.document))
		if len(problems) > 0 {
			t.Errorf("%s: %v", row.why, problems)
		}
		if diff := cmp.Diff(row.args, strings.Join(args, " ")); diff != "" {
			t.Errorf("%s:\n%s", row.why, diff)
		}
	}
}

// generator is NetworkManager's program that reads kernel arguments in the initial system. It comes with nmcli.
func generator(t *testing.T) (path, libraries string) {
	t.Helper()
	out, err := exec.Command("../../../hack/networkmanager.sh").Output()
	if err != nil {
		t.Fatalf("hack/networkmanager.sh: %v", err)
	}
	root := filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "root")
	for _, path := range []string{filepath.Join(root, "usr/lib/NetworkManager"), "/usr/lib/NetworkManager", "/usr/libexec"} {
		path = filepath.Join(path, "nm-initrd-generator")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(root, "usr/lib/*/libnm.so.0")); err == nil && len(found) > 0 {
			libraries = filepath.Dir(found[0])
		}
		return path, libraries
	}
	t.Fatal("there is an nmcli without nm-initrd-generator; install the package of NetworkManager for the initial system")
	return "", ""
}

func TestNetworkManagerReadsTheArguments(t *testing.T) {
	path, libraries := generator(t)
	for _, row := range rows {
		args, _ := Arguments("w", parse(t, row.document))
		cmd := exec.Command(path, append([]string{"-s", "--"}, args...)...)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", row.why, err, out)
		}
		for line := range strings.SplitSeq(row.reads, "\n") {
			if !strings.Contains(string(out), line) {
				t.Errorf("%s: %q is not in\n%s", row.why, line, out)
			}
		}
		if strings.Contains(string(out), "warn") {
			t.Errorf("%s: NetworkManager warns:\n%s", row.why, out)
		}
	}
}

func TestWhatArgumentsCannotExpressIsRefused(t *testing.T) {
	for _, row := range []struct{ why, document, want string }{
		{"a VLAN with another name", `interfaces: [{name: storage, type: vlan, state: up, vlan: {id: 7, base-iface: eno1}}]`, "interfaces[0].name: kernel arguments take the number of a VLAN from its name"},
		{"a VLAN with another number", `interfaces: [{name: eno1.8, type: vlan, state: up, vlan: {id: 7, base-iface: eno1}}]`, `"eno1.8" does not end in 7; name it eno1.7`},
		{"a type", `interfaces: [{name: d0, type: dummy, state: up}]`, "interfaces[0].type: kernel arguments cannot create an interface of type dummy"},
		{"static and automatic", `interfaces: [{name: e, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 10.0.0.5, prefix-length: 24}]}, ipv6: {enabled: true, autoconf: true}}]`, "either static or automatic"},
		{"a table", `routes: {config: [{destination: 10.0.0.0/8, next-hop-address: 10.0.0.1, next-hop-interface: e, table-id: 7}]}`, "routes.config[0].table-id: kernel arguments have routes of the main table only"},
		{"a rule", `route-rules: {config: [{ip-from: 10.0.0.0/8, route-table: 7}]}`, "route-rules: kernel arguments have no rules"},
		{"several targets", `interfaces: [{name: b, type: bond, state: up, link-aggregation: {mode: active-backup, options: {arp_interval: 100, arp_ip_target: "10.0.0.1,10.0.0.2"}, port: [e]}}]`, "kernel arguments have no arp_ip_target"},
		{"a PCI address", `interfaces: [{name: e, type: ethernet, state: up, identifier: pci-address, pci-address: "0000:07:00.0"}]`, "by its name or its MAC address only"},
	} {
		args, problems := Arguments("w", parse(t, row.document))
		if err := problems.Err(); err == nil || args != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, %v", row.why, args, err)
		}
	}
	args, problems := Arguments("w", parse(t, `
interfaces: [{name: e, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}]
dns-resolver: {config: {server: [10.0.0.53], search: [example.org]}}`))
	if got := strings.Join(args, " "); got != "ip=e:dhcp nameserver=10.0.0.53" || len(problems.Warnings()) != 2 {
		t.Errorf("%s %v", got, problems)
	}
}
