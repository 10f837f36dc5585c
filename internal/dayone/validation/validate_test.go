package validation

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/dayone/machineconfig"
	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
	"github.com/cluster-network-operator/cno/internal/dayone/placement"
	"github.com/cluster-network-operator/cno/internal/dayone/placement/placementtest"
)

// sound is without fault; rows replace a part of it.
const sound = placementtest.Sound

func replaced(from, to string) string {
	if !strings.Contains(sound, from) {
		panic(from)
	}
	return strings.Replace(sound, from, to, 1)
}

func role(name string, contents ...string) placement.Role {
	return placement.Role{Name: name, Files: placementtest.Files(contents...)}
}

func TestASoundDocumentHasNoProblems(t *testing.T) {
	for why, content := range map[string]string{
		"static":                             sound,
		"DHCP brings the route":              replaced("address: [{ip: 192.0.2.10, prefix-length: 24}]", "dhcp: true"),
		"the bridge may say whose address":   replaced("up, copy-mac-from: eno1, ", "up, mac-address: '52:54:00:00:00:01', "),
		"the bridge may carry copy-mac-from": strings.Replace(replaced("up, copy-mac-from: eno1, ", "up, "), "ovs-bridge, ", "ovs-bridge, copy-mac-from: eno1, ", 1),
		"a VLAN has the MTU of its card":     strings.NewReplacer("[{name: eno1}, ", "[{name: eno1.7}, ", "- {name: eno1,", "- {name: eno1.7, type: vlan, vlan: {base-iface: eno1, id: 7}}\n- {name: eno1, mtu: 9000,", "ovs-interface, ", "ovs-interface, mtu: 9000, ").Replace(sound),
		"the card by an alternative name":    strings.NewReplacer("ethernet, ", "ethernet, alt-names: [{name: uplink}, {name: br-int, state: absent}], ", "{name: eno1}, {name: br-ex}", "{name: uplink}, {name: br-ex}", "copy-mac-from: eno1", "copy-mac-from: uplink").Replace(sound),
		"packets as large as the card's":     replaced("ethernet, ", "ethernet, mtu: 9000, "),
	} {
		if problems := Validate([]placement.Role{{Name: "worker", Files: placementtest.Files("worker-0.yml", content)}}, Surroundings{}); len(problems) > 0 {
			t.Errorf("%s: %v", why, problems)
		}
	}
}

func TestWhatLeavesAHostWithoutBrExIsRefused(t *testing.T) {
	const internal = "- {name: br-ex, type: ovs-interface, state: up, copy-mac-from: eno1, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}\n"
	for _, row := range []struct{ why, content, path, says string }{
		{"no bridge", "interfaces: [{name: eno1, type: ethernet}]", "interfaces", "no ovs-bridge br-ex"},
		{"a bridge that is to go", replaced("ovs-bridge, state: up", "ovs-bridge, state: absent"), "interfaces", "no ovs-bridge br-ex"},
		{"the bridge twice", replaced("- {name: br-ex, type: ovs-interface", "- {name: br-ex, type: ovs-bridge}\n- {name: br-ex, type: ovs-interface"), "interfaces[2].name", "a second time"},
		{"the host on the bridge twice", strings.Replace(sound, "dns-resolver", "- {name: br-ex, type: ovs-interface}\ndns-resolver", 1), "interfaces[3].name", "a second time"},
		{"a bridge of Linux", replaced("type: ovs-bridge, state: up, bridge: {port: [{name: eno1}, {name: br-ex}]}", "type: linux-bridge"), "interfaces[1].type", "must be an ovs-bridge"},
		{"an alternative name that OVN takes", replaced("state: up, ipv4: {enabled: false}", "state: up, alt-names: [{name: br-int}], ipv4: {enabled: false}"), "interfaces[0].alt-names[0].name", "\"br-int\" is a name that the cluster's network uses itself"},
		{"no card", replaced("{name: eno1}, ", ""), "interfaces[1].bridge.port", "nothing leaves the host"},
		{"the host is not on the bridge", replaced("{name: eno1}, {name: br-ex}", "{name: eno1}"), "interfaces[1].bridge.port", "not a port"},
		{"no interface of the host", replaced(internal, ""), "interfaces[1]", "no ovs-interface br-ex"},
		{"no addresses", replaced("ipv4: {enabled: true, ", "ipv4: {enabled: false, "), "interfaces[2]", "no addresses"},
		{"no hardware address", replaced("copy-mac-from: eno1, ", ""), "interfaces[2]", "copy-mac-from or mac-address"},
		{"a card with addresses", replaced("ipv4: {enabled: false}", "ipv4: {enabled: true, dhcp: true}"), "interfaces[0].ipv4", "cannot have addresses"},
		{"a card that is down", replaced("ethernet, state: up", "ethernet, state: down"), "interfaces[0].state", "must be up"},
		{"packets larger than the card's", replaced("ovs-interface, ", "ovs-interface, mtu: 9000, "), "interfaces[2].mtu", "at least as large"},
		{"no way out", replaced("0.0.0.0/0", "10.0.0.0/8"), "routes", "no default route"},
		{"a way out for a few", replaced("next-hop-address: 192.0.2.1}", "next-hop-address: 192.0.2.1, table-id: 100}"), "routes", "no default route"},
		{"packets larger than those of the VLAN's card", strings.NewReplacer("[{name: eno1}, ", "[{name: eno1.7}, ", "- {name: eno1,", "- {name: eno1.7, type: vlan, vlan: {base-iface: eno1, id: 7}}\n- {name: eno1, mtu: 8000,", "ovs-interface, ", "ovs-interface, mtu: 9000, ").Replace(sound), "interfaces[3].mtu", "one of 8000"},
		{"a way out elsewhere", replaced("next-hop-interface: br-ex", "next-hop-interface: eno1"), "routes", "no default route"},
		{"DHCP whose route is not taken", strings.Replace(replaced("address: [{ip: 192.0.2.10, prefix-length: 24}]", "dhcp: true, auto-gateway: false"), "0.0.0.0/0", "10.0.0.0/8", 1), "routes", "no default route"},
		{"a name server of another family", replaced("[192.0.2.1]", "['2001:db8::1']"), "dns-resolver.config.server", "of a family"},
		{"a name of the pods' network", replaced("- {name: eno1,", "- {name: ovn-k8s-mp0, type: dummy}\n- {name: eno1,"), "interfaces[0].name", "uses itself"},
		{"a bond for which NetworkManager drops the file", replaced("- {name: eno1, type: ethernet,", "- {name: eno2, type: ethernet}\n- {name: eno1, type: bond, link-aggregation: {mode: active-backup, port: [eno2], options: {lacp_rate: fast}},"), "interfaces[1].link-aggregation.options.lacp_rate", "no LACP"},
		{"nothing at all", " \n", "", "is empty"},
		{"not NMState", "interfaces: {}\n", "interfaces", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			problems := Validate([]placement.Role{{Name: "worker", Files: placementtest.Files("worker-0.yml", row.content)}}, Surroundings{})
			for _, p := range problems.Errors() {
				if p.File == "worker-0.yml" && p.Path == row.path && strings.Contains(p.Message, row.says) && (p.Line > 0 || row.path == "") {
					return
				}
			}
			t.Errorf("got %v, want %q at %s with its line", problems, row.says, row.path)
		})
	}
}

// incompressible is text that gzip cannot make smaller than three quarters of it.
func incompressible(size int) string {
	source, out := rand.New(rand.NewPCG(1, 2)), make([]byte, size)
	for i := range out {
		out[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[source.IntN(64)]
	}
	return string(out)
}

func TestFilesAreLookedAtTogether(t *testing.T) {
	prefixes := []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	before, problems := nmstate.Parse("", []byte("interfaces: [{name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: 192.0.2.99, prefix-length: 24}]}}]"))
	if before == nil {
		t.Fatal(problems)
	}
	other := replaced("192.0.2.10", "192.0.2.11")
	for _, row := range []struct {
		why, says string
		roles     []placement.Role
		s         Surroundings
	}{
		{"one address twice", "the address of br-ex in a.yml", []placement.Role{role("w", "a.yml", sound, "b.yml", sound)}, Surroundings{}},
		{"one address twice in two roles", "the address of br-ex in a.yml", []placement.Role{role("w", "a.yml", sound), role("m", "b.yml", sound)}, Surroundings{}},
		{"an address that moves", "virtual address", []placement.Role{role("w", "a.yml", sound)}, Surroundings{VIPs: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}},
		{"an address elsewhere", "none of the machine networks", []placement.Role{role("w", "a.yml", sound)}, Surroundings{MachineNetworks: prefixes}},
		{"an address for all", "all hosts that share", []placement.Role{role("w", "cluster.yml", sound)}, Surroundings{}},
		{"an address for the two that are left", "all hosts that share", []placement.Role{role("w", "cluster.yml", sound, "a.yml", other)}, Surroundings{Hosts: map[string][]string{"w": {"a", "b", "c"}}}},
		{"another address before the boot", "node address", []placement.Role{role("w", "a.yml", sound)}, Surroundings{PreBoot: map[string]*nmstate.Document{"a": before}}},
		{"one short name", "differ before the first dot", []placement.Role{role("w", "a.x.yml", sound, "a.y.yml", other)}, Surroundings{}},
		{"one short name in two roles", "differ before the first dot", []placement.Role{role("w", "a.yml", sound), role("m", "a.yml", other)}, Surroundings{}},
		{"more than a role can have", "bytes", []placement.Role{role("w", "a.yml", sound+"# "+incompressible(2*machineconfig.MaxSize)+"\n")}, Surroundings{}},
		{"a name that no host has", "for no host", []placement.Role{role("w", "A_b.yml", sound)}, Surroundings{}},
	} {
		if err := Validate(row.roles, row.s).Err(); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: got %v, want %q", row.why, err, row.says)
		}
	}
}

func TestOneHostMayHaveTheFileOfAll(t *testing.T) {
	files := placementtest.Files("cluster.yml", sound, "a.yml", replaced("192.0.2.10", "192.0.2.11"))
	if problems := Validate([]placement.Role{{Name: "w", Files: files}}, Surroundings{Hosts: map[string][]string{"w": {"a", "b.example.com"}}}); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestWhatWorksAndIsHardlyMeantIsAWarning(t *testing.T) {
	for _, row := range []struct {
		why, says string
		files     placement.Files
	}{
		{"a file that is not read", "rename it to a.yml", placementtest.Files("a.yaml", sound)},
		{"a file of something else", "is not read", placementtest.Files("README", "x")},
		{"a full name", "rename it to a.yml", placementtest.Files("a.example.com.yml", sound)},
		{"two ways out", "2 ports", placementtest.Files("a.yml", replaced("{name: eno1}, {name: br-ex}", "{name: eno1}, {name: eno2}, {name: br-ex}"))},
		{"a card that is not described", "exist on the host", placementtest.Files("a.yml", replaced("{name: eno1}, {name: br-ex}", "{name: eno7}, {name: br-ex}"))},
		{"no one to ask for names", "name servers", placementtest.Files("a.yml", replaced("dns-resolver: {config: {server: [192.0.2.1]}}\n", ""))},
	} {
		problems := Validate([]placement.Role{{Name: "w", Files: row.files}}, Surroundings{})
		if err := problems.Err(); err != nil || !slices.ContainsFunc(problems, func(p nmstate.Problem) bool { return strings.Contains(p.Message, row.says) }) {
			t.Errorf("%s: got %v, want the warning %q", row.why, problems, row.says)
		}
	}
}

// TestAddressesBeforeTheBootAreComparedToo: each document is that of one host in one phase, with one address.
func TestAddressesBeforeTheBootAreComparedToo(t *testing.T) {
	preBoot := func(all map[string]string) map[string]*nmstate.Document {
		documents := map[string]*nmstate.Document{}
		for host, address := range all {
			doc, problems := nmstate.Parse(PreBootName(host), []byte("interfaces:\n- {name: eno1, type: ethernet, ipv4: {enabled: true, address: [{ip: "+address+", prefix-length: 24}]}}"))
			if doc == nil {
				t.Fatal(problems)
			}
			documents[host] = doc
		}
		return documents
	}
	both := []placement.Role{role("w", "a.yml", sound, "b.yml", replaced("192.0.2.10", "192.0.2.11"))}
	same := []placement.Role{role("w", "a.yml", sound, "b.yml", sound)}
	const path = "interfaces[0].ipv4.address[0].ip: "
	for _, row := range []struct {
		why     string
		roles   []placement.Role
		preBoot map[string]string
		vips    []netip.Addr
		want    []string
	}{
		{"each its own, in both phases", both, map[string]string{"a": "192.0.2.10", "b": "192.0.2.11"}, nil, nil},
		{"two hosts before the boot", nil, map[string]string{"a": "192.0.2.10", "b": "192.0.2.10"}, nil,
			[]string{"before the boot of b:2: " + path + "192.0.2.10 is the address of eno1 of a before its boot (line 2); give each host a different one"}},
		{"one before, another after", []placement.Role{role("w", "a.yml", sound)}, map[string]string{"c": "192.0.2.10"}, nil,
			[]string{"before the boot of c:2: " + path + "192.0.2.10 is the address of br-ex in a.yml (line 4); give each host a different one"}},
		{"the same two in both phases are reported once", same, map[string]string{"a": "192.0.2.10", "b": "192.0.2.10"}, nil,
			[]string{"b.yml:4: interfaces[2].ipv4.address[0].ip: 192.0.2.10 is the address of br-ex in a.yml (line 4); give each host a different one"}},
		{"loopback and link-local addresses", nil, map[string]string{"a": "169.254.1.1", "b": "169.254.1.1", "c": "127.0.0.9", "d": "127.0.0.9"}, nil, nil},
		{"the file of any host", []placement.Role{role("w", "cluster.yml", sound)}, map[string]string{"a": "192.0.2.10"}, nil, nil},
		{"a virtual address", nil, map[string]string{"a": "192.0.2.10"}, []netip.Addr{netip.MustParseAddr("192.0.2.10")},
			[]string{"before the boot of a:2: " + path + "192.0.2.10 is a virtual address of the cluster, which moves between hosts; give the host another one"}},
	} {
		var got []string
		for _, p := range Validate(row.roles, Surroundings{PreBoot: preBoot(row.preBoot), VIPs: row.vips, Hosts: map[string][]string{"w": {"a"}}}).Errors() {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}
