package netaddr

import (
	"net"
	"net/netip"
	"testing"
)

func TestIPNet(t *testing.T) {
	for _, text := range []string{"10.1.2.3/24", "0.0.0.0/0", "fd00::1/64", "192.0.2.1/32"} {
		p := netip.MustParsePrefix(text)
		if got := IPNet(p); got.String() != text {
			t.Errorf("%s becomes %s", text, got)
		}
		if back, ok := FromIPNet(IPNet(p)); !ok || back != p {
			t.Errorf("%s round-trips to %s, %v", text, back, ok)
		}
	}
	if got := IPNet(netip.Prefix{}); got != nil {
		t.Errorf("the invalid prefix becomes %s", got)
	}
	if p, ok := FromIPNet(nil); ok {
		t.Errorf("nil becomes %s", p)
	}
	if p, ok := FromIPNet(&net.IPNet{IP: net.IP{1, 2, 3}}); ok {
		t.Errorf("three bytes become %s", p)
	}
	if p, ok := FromIPNet(&net.IPNet{IP: net.ParseIP("10.1.2.0"), Mask: net.CIDRMask(24, 32)}); !ok || p.String() != "10.1.2.0/24" {
		t.Errorf("an IPv4 address of 16 bytes becomes %s, %v", p, ok)
	}
}
