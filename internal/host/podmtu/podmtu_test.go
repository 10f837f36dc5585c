package podmtu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"

	"github.com/cluster-network-operator/cno/internal/host/podmtu"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// TestLimitsSurviveAnIncreaseOfTheLinkMTU goes up and down with routes of both IP families: the kernel changes limits of IPv6 routes that are the MTU of
// their interface.
func TestLimitsSurviveAnIncreaseOfTheLinkMTU(t *testing.T) {
	node, pod := netns.New(t, "node"), netns.New(t, "pod")
	node.Run("ip", "link", "add", "near", "type", "veth", "peer", "name", "eth0", "netns", pod.Name)
	node.Run("ip", "link", "set", "near", "mtu", "1400", "up")
	pod.Run("ip", "link", "set", "eth0", "mtu", "1400", "up")
	pod.Run("ip", "address", "add", "10.1.2.3/24", "dev", "eth0")
	pod.Run("ip", "address", "add", "fd00::3/64", "dev", "eth0", "nodad")
	pod.Run("ip", "route", "add", "default", "via", "10.1.2.1")
	pod.Run("ip", "route", "add", "224.0.0.0/4", "dev", "eth0")
	pod.Run("ip", "-6", "route", "add", "default", "via", "fd00::1")
	handle := func(at netns.Namespace) *netlink.Handle {
		t.Helper()
		fd, err := vnetns.GetFromPath(at.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer fd.Close()
		h, err := netlink.NewHandleAt(fd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		return h
	}
	outside, inside := handle(node), handle(pod)
	end := func(h *netlink.Handle, name string) netlink.Link {
		t.Helper()
		l, err := h.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, s := range []struct{ mtu, routable int }{{1450, 1400}, {1450, 0}, {1450, 1400}, {1400, 0}, {1450, 1400}, {1450, 1280}, {1280, 0}, {1450, 1280}} {
		l := podmtu.Link{
			Outside: outside, Inside: inside, Near: end(outside, "near"), Far: end(inside, "eth0"), ProcSys: "/proc/sys",
			Enter: func(f func() error) error { return ns.WithNetNSPath(pod.Path(), func(ns.NetNS) error { return f() }) },
		}
		if err := l.Set(s.mtu, s.routable); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		if out := pod.Run("ip", "link", "show", "eth0"); !strings.Contains(out, fmt.Sprintf("mtu %d ", s.mtu)) {
			t.Errorf("%+v: the pod has %s", s, out)
		}
		if out := node.Run("ip", "link", "show", "near"); !strings.Contains(out, "mtu 1450 ") {
			t.Errorf("%+v: the end of the switch is lowered: %s", s, out)
		}
		routes := strings.TrimSpace(pod.Run("ip", "route")) + "\n" + strings.TrimSpace(pod.Run("ip", "-6", "route"))
		limited := strings.Count(routes, fmt.Sprintf(" mtu %d", s.routable))
		if s.routable == 0 && strings.Contains(routes, " mtu ") || s.routable != 0 && limited != strings.Count(routes, "\n")+1 {
			t.Errorf("%+v: the routes are\n%s", s, routes)
		}
		if got := strings.TrimSpace(pod.Run("cat", "/proc/sys/net/ipv6/conf/eth0/mtu")); got != fmt.Sprint(s.mtu) && s.mtu > 1400 && s.routable != 0 {
			t.Errorf("%+v: the MTU of IPv6 is %s", s, got)
		}
	}
}
