package defaultroute

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inNamespace runs the test on a thread in a network namespace of its own, with links a (1400), b (1500), c (9000).
func inNamespace(t *testing.T) *netlink.Handle {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test's goroutine, and its namespace with it
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("make network namespace (must be root): %v", err)
	}
	handle, err := netlink.NewHandle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	for i, l := range []struct {
		name string
		mtu  int
	}{{"a", 1400}, {"b", 1500}, {"c", 9000}} {
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: l.name, MTU: l.mtu}, PeerName: l.name + "peer", PeerMTU: uint32(l.mtu)}
		must(t, handle.LinkAdd(veth))
		for _, name := range []string{l.name, l.name + "peer"} {
			link, err := handle.LinkByName(name)
			must(t, err)
			must(t, handle.LinkSetUp(link))
		}
		must(t, handle.AddrAdd(veth, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(192, 0, 2, byte(1+16*i)), Mask: net.CIDRMask(28, 32)}}))
		must(t, handle.AddrAdd(veth, &netlink.Addr{
			IPNet: &net.IPNet{IP: net.ParseIP("2001:db8:" + string(rune('a'+i)) + "::1"), Mask: net.CIDRMask(64, 128)}, Flags: unix.IFA_F_NODAD}))
	}
	return handle
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hop(t *testing.T, h *netlink.Handle, name, via string) *netlink.NexthopInfo {
	t.Helper()
	link, err := h.LinkByName(name)
	must(t, err)
	return &netlink.NexthopInfo{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(via)}
}

func TestMTUIsTheLeastOfAllDefaultRoutes(t *testing.T) {
	v4, v6 := netlink.FAMILY_V4, netlink.FAMILY_V6
	anywhere := func(family int) *net.IPNet {
		if family == v4 {
			return &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
		}
		return &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	for name, c := range map[string]struct {
		routes func(h *netlink.Handle) []netlink.Route
		mtu    int
		links  []string
	}{
		"one IPv4 route": {func(h *netlink.Handle) []netlink.Route {
			return []netlink.Route{{Dst: anywhere(v4), LinkIndex: hop(t, h, "b", "").LinkIndex, Gw: net.IPv4(192, 0, 2, 18)}}
		}, 1500, []string{"b"}},
		"the IPv6 route leaves by a smaller link": {func(h *netlink.Handle) []netlink.Route {
			return []netlink.Route{
				{Dst: anywhere(v4), LinkIndex: hop(t, h, "c", "").LinkIndex, Gw: net.IPv4(192, 0, 2, 34)},
				{Dst: anywhere(v6), LinkIndex: hop(t, h, "b", "").LinkIndex, Gw: net.ParseIP("2001:db8:b::2")},
			}
		}, 1500, []string{"b", "c"}},
		"every next hop of a multipath route counts": {func(h *netlink.Handle) []netlink.Route {
			return []netlink.Route{{Dst: anywhere(v4), MultiPath: []*netlink.NexthopInfo{hop(t, h, "c", "192.0.2.34"), hop(t, h, "a", "192.0.2.2")}}}
		}, 1400, []string{"a", "c"}},
		"a blackhole default is ignored": {func(h *netlink.Handle) []netlink.Route {
			return []netlink.Route{
				{Dst: anywhere(v4), LinkIndex: hop(t, h, "c", "").LinkIndex, Gw: net.IPv4(192, 0, 2, 34)},
				{Dst: anywhere(v4), Type: unix.RTN_BLACKHOLE, Priority: 900},
			}
		}, 9000, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := inNamespace(t)
			for _, route := range c.routes(h) {
				must(t, h.RouteAdd(&route))
			}
			mtu, links, err := MTU(h)
			if err != nil || mtu != c.mtu || !slices.Equal(links, c.links) {
				t.Errorf("MTU() = %d, %v, %v; want %d, %v", mtu, links, err, c.mtu, c.links)
			}
		})
	}
}

func TestMTUOfAHostWithoutDefaultRouteIsAnError(t *testing.T) {
	if _, _, err := MTU(inNamespace(t)); !errors.Is(err, ErrNoRoute) {
		t.Errorf("error is %v, want %v", err, ErrNoRoute)
	}
}

func TestLinkIsThatOfTheRouteWithTheLeastMetric(t *testing.T) {
	h := inNamespace(t)
	if _, err := Link(h, netlink.FAMILY_V4); !errors.Is(err, ErrNoRoute) {
		t.Errorf("error is %v, want %v", err, ErrNoRoute)
	}
	everywhere := &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}
	for i, name := range []string{"c", "b", "a"} {
		index := hop(t, h, name, "").LinkIndex
		via := map[string]net.IP{"a": net.IPv4(192, 0, 2, 2), "b": net.IPv4(192, 0, 2, 18), "c": net.IPv4(192, 0, 2, 34)}[name]
		must(t, h.RouteAdd(&netlink.Route{Dst: everywhere, LinkIndex: index, Gw: via, Priority: 100 + i - 10*(i%2)}))
	}
	if got, err := Link(h, netlink.FAMILY_V4); err != nil || got != hop(t, h, "b", "").LinkIndex {
		t.Errorf("Link() = %d, %v", got, err)
	}
	if _, err := Link(h, netlink.FAMILY_V6); !errors.Is(err, ErrNoRoute) {
		t.Errorf("error is %v, want %v", err, ErrNoRoute)
	}
}

func TestInterfacesWithAddressesAreNamed(t *testing.T) {
	handle := inNamespace(t)
	got, err := Addressed(handle)
	if err != nil {
		t.Fatal(err)
	}
	// Their peers have none but that of the link, and lo has its own.
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
