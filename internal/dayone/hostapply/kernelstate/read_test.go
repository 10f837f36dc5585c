package kernelstate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// inNamespace runs commands in a network namespace of the test's own, and reads it.
func inNamespace(t *testing.T, dns string, commands ...string) livestate.State {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread dies with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make network namespace (must be root): %v", err)
	}
	for _, c := range commands {
		if out, err := exec.Command("sh", "-c", c).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c, err, out)
		}
	}
	handle, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	path := filepath.Join(t.TempDir(), "resolv.conf")
	if dns != "" {
		if err := os.WriteFile(path, []byte(dns), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Reader{Netlink: handle, ResolvConf: path}.Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadLinks(t *testing.T) {
	s := inNamespace(t, "",
		"ip link add br0 type bridge", "ip link add ca type veth peer name cb", "ip link set ca address 52:54:00:00:00:01 mtu 1400 master br0",
		"ip link set cb up", "ip link set ca up", "ip link add m0 link cb type macvlan mode bridge", "ip link add x7 type vxlan id 7 dev cb remote 192.0.2.1 dstport 4789",
		"ip address add 192.0.2.5/24 dev cb", "ip address add 192.0.2.6/24 dev cb valid_lft 100 preferred_lft 50",
		"ip address add 2001:db8::5/64 dev cb nodad", "ip address add 2001:db8::6/64 dev cb valid_lft 100 preferred_lft 100 nodad")
	type short struct {
		Kind, MAC, Controller, Parent, Peer string
		MTU                                 int
		Up                                  bool
	}
	got := map[string]short{}
	for _, l := range s.Links {
		s := short{Kind: l.Kind, Controller: l.Controller, Parent: l.Parent, Peer: l.Peer, MTU: l.MTU, Up: l.Up}
		if l.Name == "ca" {
			s.MAC = l.MAC
		}
		got[l.Name] = s
	}
	want := map[string]short{
		"lo":  {Kind: "loopback", MTU: 65536},
		"br0": {Kind: "linux-bridge", MTU: 1400},
		"ca":  {Kind: "veth", MAC: "52:54:00:00:00:01", Controller: "br0", Peer: "cb", MTU: 1400, Up: true},
		"cb":  {Kind: "veth", Peer: "ca", MTU: 1500, Up: true},
		"m0":  {Kind: "mac-vlan", Parent: "cb", MTU: 1500},
		"x7":  {Kind: "vxlan", Parent: "cb", MTU: 1450},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b, _ := s.Link("cb")
	var addresses []string
	for _, a := range b.Addresses {
		if !a.Prefix.Addr().IsLinkLocalUnicast() {
			addresses = append(addresses, a.Prefix.String())
			if dynamic := a.Valid > 0; dynamic != a.Dynamic || a.Valid > int((100*time.Second).Seconds()) {
				t.Errorf("%+v", a)
			}
		}
	}
	slices.Sort(addresses)
	if diff := cmp.Diff([]string{"192.0.2.5/24", "192.0.2.6/24", "2001:db8::5/64", "2001:db8::6/64"}, addresses); diff != "" {
		t.Error(diff)
	}
	if !b.IPv4.DHCP || !b.IPv6.Autoconf || b.IPv6.DHCP {
		t.Errorf("methods are %+v and %+v", b.IPv4, b.IPv6)
	}
	if br, _ := s.Link("br0"); !cmp.Equal(br.Bridge.Ports, []string{"ca"}) {
		t.Errorf("ports of br0 are %v", br.Bridge.Ports)
	}
}

func TestReadRoutesAndRules(t *testing.T) {
	s := inNamespace(t, "", "ip link add cd type veth peer name ce", "ip link set cd up", "ip link set ce up", "ip address add 192.0.2.5/24 dev cd",
		"ip route add default via 192.0.2.1 dev cd metric 48 proto dhcp", "ip route add 198.51.100.0/24 via 192.0.2.2 table 100", "ip route add blackhole 203.0.113.0/24",
		"ip route add 10.0.0.0/8 nexthop via 192.0.2.3 nexthop via 192.0.2.4", "ip -6 route add default via fe80::9 dev cd", "ip rule add from 192.0.2.0/24 fwmark 1/3 table 100 priority 500",
		"ip -6 rule add to 2001:db8::/32 prohibit priority 501")
	want := map[string]bool{
		"0.0.0.0/0 192.0.2.1 cd 48 254 dhcp ":             true,
		"198.51.100.0/24 192.0.2.2 cd 0 100 boot ":        true,
		"203.0.113.0/24 invalid IP  0 254 boot blackhole": true,
		"10.0.0.0/8 192.0.2.3 cd 0 254 boot ":             true,
		"10.0.0.0/8 192.0.2.4 cd 0 254 boot ":             true,
		"192.0.2.0/24 invalid IP cd 0 254 kernel ":        true,
		"::/0 fe80::9 cd 1024 254 boot ":                  true,
	}
	got := map[string]bool{}
	for _, r := range s.Routes {
		if !r.Destination.Addr().IsLinkLocalUnicast() {
			got[text(r)] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range s.Rules {
		switch {
		case r.Priority == 500 && (r.From.String() != "192.0.2.0/24" || r.Table != 100 || r.Mark != 1 || r.Mask != 3 || r.Family != 4):
			t.Errorf("%+v", r)
		case r.Priority == 501 && (r.To.String() != "2001:db8::/32" || r.Action != "prohibit" || r.Family != 6):
			t.Errorf("%+v", r)
		}
	}
	if i := slices.IndexFunc(s.Routes, livestate.Route.Default); i < 0 {
		t.Error("no default route")
	}
}

func text(r livestate.Route) string {
	return fmt.Sprintf("%s %s %s %d %d %s %s", r.Destination, r.Via, r.Interface, r.Metric, r.Table, r.Protocol, r.Type)
}

func TestReadDNS(t *testing.T) {
	got := inNamespace(t, "# made\nsearch a.example b.example\nnameserver 192.0.2.53\nnameserver 2001:db8::53\noptions ndots:2 edns0\noptions rotate\n").DNS
	want := livestate.DNS{Servers: []string{"192.0.2.53", "2001:db8::53"}, Search: []string{"a.example", "b.example"}, Options: []string{"ndots:2", "edns0", "rotate"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := inNamespace(t, "").DNS; len(got.Servers) > 0 {
		t.Errorf("without a file: %v", got)
	}
}
