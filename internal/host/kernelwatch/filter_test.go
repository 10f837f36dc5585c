package kernelwatch

import (
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func TestFilter(t *testing.T) {
	route := func(to string) []byte {
		msg := nl.NewRtMsg()
		p := netip.MustParsePrefix(to)
		msg.Dst_len = uint8(p.Bits())
		out := msg.Serialize()
		if p.Bits() > 0 {
			out = append(out, nl.NewRtAttr(unix.RTA_DST, p.Addr().AsSlice()).Serialize()...)
		}
		return out
	}
	link := func(index int32) []byte {
		msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
		msg.Index = index
		return msg.Serialize()
	}
	address := func(index uint32) []byte {
		msg := nl.NewIfAddrmsg(unix.AF_INET)
		msg.Index = index
		return msg.Serialize()
	}
	inside := netip.MustParsePrefix("10.0.0.0/8")
	f := Filter{Links: []int{7}, Route: inside.Overlaps}
	for _, tt := range []struct {
		reason string
		f      Filter
		kind   uint16
		data   []byte
		want   bool
	}{
		{"a route into the network", f, unix.RTM_NEWROUTE, route("10.1.0.0/16"), true},
		{"the end of one", f, unix.RTM_DELROUTE, route("10.1.0.0/16"), true},
		{"a route elsewhere", f, unix.RTM_NEWROUTE, route("192.0.2.0/24"), false},
		{"a default route", f, unix.RTM_NEWROUTE, route("0.0.0.0/0"), true},
		{"no route matters but the default", Filter{}, unix.RTM_NEWROUTE, route("10.1.0.0/16"), false},
		{"the interface", f, unix.RTM_NEWLINK, link(7), true},
		{"another interface", f, unix.RTM_DELLINK, link(8), false},
		{"an address of the interface", f, unix.RTM_NEWADDR, address(7), true},
		{"an address of another interface", f, unix.RTM_DELADDR, address(8), false},
		{"a message that is too short", f, unix.RTM_NEWROUTE, []byte{1}, true},
		{"a neighbour", f, unix.RTM_NEWNEIGH, link(7), false},
	} {
		if got := tt.f.concerns(tt.kind, tt.data); got != tt.want {
			t.Errorf("%s: %v", tt.reason, got)
		}
	}
}
