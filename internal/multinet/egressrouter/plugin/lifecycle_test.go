package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/google/go-cmp/cmp"

	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

func configV4(extra ...string) string {
	return config("1.1.0", routerIPv4+"/24", "192.168.12.1", append(destinations, extra...)...)
}

func configV6(extra ...string) string {
	return config("1.1.0", routerIPv6+"/64", "fd12::1", append(destinationsV6, extra...)...)
}

// What the kernel has is what the goldens of the pure package show: nft prints the same text.
func TestKernelRulesMatchTheGoldens(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	for link, text := range map[string]string{"net1": configV4(anotherDestination), "net2": configV6(anotherDestinationV6)} {
		n.add(n.pod, link, text)
		conf, errs := egressrouter.Parse([]byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		want := egressrouter.Rules(&conf, link)
		if diff := cmp.Diff(want.String(), n.pod.Run("nft", "list", "table", "inet", want.Table)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDuplicateAddressIsRefusedWithItsMAC(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	l.outside.Run("ip", "addr", "add", routerIPv4+"/24", "dev", "eth0")
	l.outside.Run("ip", "addr", "add", routerIPv6+"/64", "dev", "eth0", "nodad")
	mac := strings.Fields(l.outside.Run("ip", "-br", "link", "show", "eth0"))[2]
	for link, text := range map[string]string{"net1": configV4(), "net2": configV6()} {
		_, err := n.call("ADD", n.pod, link, text)
		refused(t, err, egressrouter.CodeAddressTaken, "is taken", mac)
		untouched(t, n.pod)
	}
	// The node's own address, which is in no frame.
	_, err := n.call("ADD", n.pod, "net1", config("1.1.0", "192.168.12.50/24", "192.168.12.1"))
	refused(t, err, egressrouter.CodeAddressTaken, "192.168.12.50", "this node")
}

// untouched wants a pod to be as before: no interface, no rules, its routes, and no forwarding.
func untouched(t *testing.T, pod netns.Namespace) {
	t.Helper()
	if links := pod.Run("ip", "-br", "link"); strings.Contains(links, "@") && strings.Contains(links, "net") || strings.Contains(links, "egress") {
		t.Errorf("the pod has %s", links)
	}
	if tables := pod.Run("nft", "list", "ruleset"); tables != "" {
		t.Errorf("the pod has %s", tables)
	}
	for _, family := range []string{"-4", "-6"} {
		if rules := pod.Run("ip", family, "rule"); strings.Contains(rules, "fwmark") {
			t.Errorf("the pod has %s", rules)
		}
	}
	if forwarding := pod.Run("sysctl", "-n", "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"); forwarding != "0\n0\n" {
		t.Errorf("the pod forwards: %s", forwarding)
	}
}

func TestGatewayMasterAndModeAreErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	n.Run("ip", "link", "add", "down0", "type", "veth", "peer", "name", "down1")
	for _, row := range []struct {
		why, text string
		code      uint
		words     []string
	}{
		{"a gateway that does not exist", strings.Replace(configV4(), `"gateway":"192.168.12.1"`, `"gateway":"192.168.12.77"`, 1), egressrouter.CodeNoGateway, []string{"192.168.12.77", "eth1"}},
		{"a gateway that does not exist, IPv6", strings.Replace(configV6(), `"gateway":"fd12::1"`, `"gateway":"fe80::77"`, 1), egressrouter.CodeNoGateway, []string{"fe80::77", "eth1"}},
		{"a master that does not exist", strings.Replace(configV4(), "eth1", "eth7", 1), egressrouter.CodeNoMaster, []string{"eth7"}},
		{"a master that is down", strings.Replace(configV4(), "eth1", "down0", 1), egressrouter.CodeNoMaster, []string{"down0", "is down"}},
		{"the node's own interface is not taken over", strings.Replace(configV4(), "bridge", "passthru", 1), egressrouter.CodeNoMaster, []string{"192.168.12.50", "passthru"}},
		{"more than the master's MTU", strings.Replace(configV4(), `"master"`, `"mtu":9000,"master"`, 1), types.ErrInvalidNetworkConfig, []string{"9000", "1500", "eth1"}},
		{"an error in the configuration", strings.Replace(configV4(), "8080 TCP", "8080 ICMP", 1), types.ErrInvalidNetworkConfig, []string{"ip.destinations[0]", "ICMP"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			_, err := n.call("ADD", n.pod, "net1", row.text)
			refused(t, err, row.code, row.words...)
			untouched(t, n.pod)
		})
	}
	// A gateway that nothing needs is not looked for.
	n.add(n.pod, "net1", config("1.1.0", routerIPv4+"/24", "192.168.12.77", "80 TCP 192.168.12.1"))
}

// Without a master it is the interface of the node's default route; each mode is the one that was asked for, with the MTU of the master.
func TestEveryModeOnTheInterfaceOfTheDefaultRoute(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	n.Run("ip", "link", "set", "eth1", "mtu", "1400")
	for _, mode := range []string{"bridge", "private", "vepa"} {
		text := strings.Replace(strings.Replace(configV4(), `"master":"eth1",`, "", 1), "bridge", mode, 1)
		result := n.add(n.pod, "net1", text)
		if out := n.pod.Run("ip", "-d", "link", "show", "net1"); !strings.Contains(out, "mode "+mode) || !strings.Contains(out, "mtu 1400") || result.Interfaces[0].Mtu != 1400 {
			t.Errorf("%s: %s", mode, out)
		}
		if _, err := n.call("CHECK", n.pod, "net1", text); err != nil {
			t.Errorf("CHECK: %v", err)
		}
		if _, err := n.call("DEL", n.pod, "net1", text); err != nil {
			t.Errorf("DEL: %v", err)
		}
	}
	// An interface without addresses may be taken over.
	l.plug(n.Namespace, "eth2")
	n.add(n.pod, "net1", strings.Replace(strings.Replace(configV4(), "eth1", "eth2", 1), "bridge", "passthru", 1))
}

// The rules of one family are the same before and after the other is added and removed, and its connections work all the time.
func TestAFamilyIsAddedAndRemovedWithoutTheOther(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	n.add(n.pod, "net1", configV4())
	before := n.pod.Run("nft", "-a", "list", "table", "inet", "egress_router_ipv4")
	n.add(n.pod, "net2", configV6())
	reaches(t, n.client, "tcp", "["+podIPv6+"]:8080", routerIPv6+" at [2001:db8::26]:80")
	// A third attachment would have the family of one of them.
	_, err := n.call("ADD", n.pod, "net3", config("1.1.0", "192.168.12.98/24", "192.168.12.1"))
	refused(t, err, types.ErrInvalidNetworkConfig, "net1", "IPv4")
	// Its DEL, which follows, removes nothing, also of the others.
	for _, link := range []string{"net3", "net2", "net2"} {
		if _, err := n.call("DEL", n.pod, link, map[string]string{"net3": config("1.1.0", "192.168.12.98/24", "192.168.12.1"), "net2": configV6()}[link]); err != nil {
			t.Errorf("DEL of %s: %v", link, err)
		}
	}
	if diff := cmp.Diff(before, n.pod.Run("nft", "-a", "list", "table", "inet", "egress_router_ipv4")); diff != "" {
		t.Error(diff)
	}
	reaches(t, n.client, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
	if _, err := n.call("CHECK", n.pod, "net1", configV4()); err != nil {
		t.Errorf("CHECK: %v", err)
	}
	if _, err := n.call("DEL", n.pod, "net1", configV4()); err != nil {
		t.Error(err)
	}
	untouched(t, n.pod)
}

// CHECK passes after ADD, fails for each thing that another client has changed, and passes when that is reverted.
func TestCheckNoticesEveryChange(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	texts := map[string]string{"net1": configV4(anotherDestination), "net2": configV6(anotherDestinationV6)}
	n.add(n.pod, "net1", texts["net1"])
	n.add(n.pod, "net2", texts["net2"])
	const v4 = " inet egress_router_ipv4 "
	for _, row := range []struct{ link, change, undo, want string }{
		{"net1", "ip link set net1 down", "ip link set net1 up; ip route add default via 192.168.12.1 dev net1", "is down"},
		{"net1", "ip addr del " + routerIPv4 + "/24 dev net1", "ip addr add " + routerIPv4 + "/24 dev net1; ip route add default via 192.168.12.1 dev net1", "no address"},
		{"net1", "ip route del default", "ip route add default via 192.168.12.1 dev net1", "no IPv4 default route"},
		{"net1", "ip route add default via 10.244.1.1 dev eth0 metric 7", "ip route del default dev eth0", "another IPv4 default route"},
		{"net1", "ip rule del fwmark 1", "ip rule add fwmark 1 lookup 100 priority 100", "policy rule"},
		{"net1", "ip route flush table 100", "ip route add default via 10.244.1.1 table 100", "policy rule or the routes"},
		{"net1", "sysctl -qw net.ipv4.ip_forward=0", "sysctl -qw net.ipv4.ip_forward=1", "ip_forward"},
		{"net1", "nft insert rule" + v4 + "forwarded accept", "nft delete rule" + v4 + "forwarded handle $(nft -a list chain" + v4 + "forwarded | sed -n '4s/.*handle //p')", "6 rules"},
		{"net1", "nft add chain" + v4 + "more", "nft delete chain" + v4 + "more", "chains"},
		{"net1", "ip link set net1 type macvlan mode private", "ip link set net1 type macvlan mode bridge", "macvlan mode"},
		{"net2", "sysctl -qw net.ipv6.conf.net2.accept_ra=2", "sysctl -qw net.ipv6.conf.net2.accept_ra=0", "accept_ra"},
		{"net2", "ip addr del " + routerIPv6 + "/64 dev net2", "ip addr add " + routerIPv6 + "/64 dev net2 nodad", "no address"},
		{"net1", "nft flush chain" + v4 + "forwarded", "", "0 rules"},
		{"net1", "nft delete table" + v4, "", "no chain mark_clients"},
		{"net1", "ip link del net1", "", "no interface"},
	} {
		n.pod.Run("sh", "-c", row.change)
		_, err := n.call("CHECK", n.pod, row.link, texts[row.link])
		refused(t, err, egressrouter.CodeDiffers, row.want)
		if row.undo == "" {
			continue
		}
		n.pod.Run("sh", "-c", row.undo)
		if _, err := n.call("CHECK", n.pod, row.link, texts[row.link]); err != nil {
			t.Errorf("after %q and %q: %v", row.change, row.undo, err)
		}
	}
}

// A rule that was replaced is noticed, whichever it is.
func TestCheckNoticesEveryReplacedRule(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	text := configV6(anotherDestinationV6)
	n.add(n.pod, "net1", text)
	conf, _ := egressrouter.Parse([]byte(text))
	for _, chain := range egressrouter.Rules(&conf, "net1").Chains {
		for i, rule := range chain.Rules {
			listing := n.pod.Run("nft", "-a", "list", "chain", "inet", "egress_router_ipv6", chain.Name)
			_, tail, _ := strings.Cut(strings.Split(listing, "\n")[i+3], "# handle ")
			replacement := rule
			replacement.In = "net9"
			if chain.Hook == "output" || chain.Hook == "postrouting" {
				replacement.In, replacement.Out = "", "net9"
			}
			place := []string{"inet", "egress_router_ipv6", chain.Name, "handle", strings.TrimSpace(tail)}
			n.pod.Run(append(append([]string{"nft", "replace", "rule"}, place...), strings.Fields(replacement.String())...)...)
			_, err := n.call("CHECK", n.pod, "net1", text)
			refused(t, err, egressrouter.CodeDiffers, fmt.Sprintf("rule %d of nftables chain %s", i+1, chain.Name))
			n.pod.Run(append(append([]string{"nft", "replace", "rule"}, place...), strings.Fields(rule.String())...)...)
		}
	}
	// The same rules, as nft writes them, are the same to CHECK.
	if _, err := n.call("CHECK", n.pod, "net1", text); err != nil {
		t.Error(err)
	}
}

func TestDelNeedsNeitherTheNamespaceNorAValidConfiguration(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	n.add(n.pod, "net1", configV4())
	for _, text := range []string{`{"cniVersion":"1.1.0","name":"a","type":"egress-router"}`, configV4()} {
		if _, err := n.call("DEL", n.pod, "net1", text); err != nil {
			t.Errorf("DEL: %v", err)
		}
		untouched(t, n.pod)
	}
	gone := n.pod
	gone.Name = "cnotest-no-such-namespace"
	for _, pod := range []netns.Namespace{gone, {}} {
		if _, err := n.call("DEL", pod, "net1", configV4()); err != nil {
			t.Errorf("DEL without the namespace: %v", err)
		}
	}
}

func TestResultsHaveTheRequestedVersion(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	for _, version := range []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"} {
		text := config(version, routerIPv4+"/24", "192.168.12.1", destinations...)
		out, err := n.call("ADD", n.pod, "net1", text)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			CNIVersion string `json:"cniVersion"`
			IPs        []struct{ Version, Address, Gateway string }
			Routes     []struct{ Dst, GW string }
		}
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatal(err)
		}
		if result.CNIVersion != version || len(result.IPs) != 1 || result.IPs[0].Address != routerIPv4+"/24" || result.IPs[0].Gateway != "192.168.12.1" || result.Routes[0].Dst != "0.0.0.0/0" {
			t.Errorf("%s: %s", version, out)
		}
		if (result.IPs[0].Version == "4") != (version < "1") {
			t.Errorf("%s: %s", version, out)
		}
		if _, err := n.call("DEL", n.pod, "net1", text); err != nil {
			t.Fatal(err)
		}
	}
	_, err := n.call("ADD", n.pod, "net1", config("0.2.0", routerIPv4+"/24", "192.168.12.1"))
	refused(t, err, types.ErrIncompatibleCNIVersion)
	for _, command := range []string{"STATUS", "GC"} {
		if out, err := n.call(command, netns.Namespace{}, "", configV4()); err != nil || len(out) > 0 {
			t.Errorf("%s: %s, %v", command, out, err)
		}
	}
}

// An attachment with as many destinations as there may be is one transaction.
func TestMaximumOfDestinationsIsOneTransaction(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	n := l.newNode(t)
	listenOutside(t, l)
	many := destinations
	for port := 10000; len(many) < 1024; port++ {
		many = append(many, fmt.Sprintf("%d TCP 203.0.113.26 80", port))
	}
	text := config("1.1.0", routerIPv4+"/24", "192.168.12.1", many...)
	n.add(n.pod, "net1", text)
	reaches(t, n.client, "tcp", podIPv4+":10999", routerIPv4+" at 203.0.113.26:80")
	if _, err := n.call("CHECK", n.pod, "net1", text); err != nil {
		t.Error(err)
	}
}

// The node of the router is lost, and another one gets the pod: hosts outside that knew the address use the new one within two seconds of the
// answer of ADD, also behind a switch.
func TestAnotherNodeTakesTheAddressOver(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	first, second := l.newNode(t), l.newNode(t)
	second.Run("ip", "addr", "flush", "dev", "eth1")
	second.Run("ip", "addr", "add", "192.168.12.51/24", "dev", "eth1")
	second.Run("ip", "route", "add", "default", "via", "192.168.12.1")
	listenOutside(t, l)
	for link, text := range map[string]string{"net1": configV4(), "net2": configV6()} {
		first.add(first.pod, link, text)
		_, err := second.call("ADD", second.pod, link, text)
		refused(t, err, egressrouter.CodeAddressTaken)
	}
	reaches(t, first.client, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
	reaches(t, first.client, "tcp", "["+podIPv6+"]:8080", routerIPv6+" at [2001:db8::26]:80")
	first.Run("ip", "link", "set", "eth1", "down")
	for link, text := range map[string]string{"net1": configV4(), "net2": configV6()} {
		mac := second.add(second.pod, link, text).Interfaces[0].Mac
		address := map[string]string{"net1": routerIPv4, "net2": routerIPv6}[link]
		answered := time.Now()
		eventually.Holds(t, "the host outside knows the new place of "+address, func() (string, bool) {
			neighbor := l.outside.Run("ip", "neigh", "show", address)
			return neighbor, strings.Contains(neighbor, mac)
		})
		if took := time.Since(answered); took > 2*time.Second {
			t.Errorf("the host outside learnt it after %s", took)
		}
	}
	reaches(t, second.client, "tcp", podIPv4+":8080", routerIPv4+" at 203.0.113.26:80")
	reaches(t, second.client, "udp", "["+podIPv6+"]:8080", routerIPv6+" at [2001:db8::26]:53")
}

// Two pods that start at once with one address do not both get it.
func TestOfTwoConcurrentADDsAtMostOneGetsTheAddress(t *testing.T) {
	t.Parallel()
	l := newLAN(t)
	first, second := l.newNode(t), l.newNode(t)
	second.Run("ip", "addr", "del", "192.168.12.50/24", "dev", "eth1")
	for _, text := range []string{configV4(), configV6()} {
		errs := make(chan error)
		for _, n := range []*node{first, second} {
			go func() {
				_, err := n.call("ADD", n.pod, "net1", text)
				errs <- err
			}()
		}
		got := 0
		for range 2 {
			if err := <-errs; err == nil {
				got++
			} else {
				refused(t, err, egressrouter.CodeAddressTaken)
			}
		}
		if got > 1 {
			t.Error("both have it")
		}
		for _, n := range []*node{first, second} {
			if _, err := n.call("DEL", n.pod, "net1", text); err != nil {
				t.Error(err)
			}
		}
	}
}
