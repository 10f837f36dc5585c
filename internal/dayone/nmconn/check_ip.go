package nmconn

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

func (n *network) checkAddresses(i *iface, family string, a *nmstate.Auto, bits uint8) {
	is6 := family == "ipv6"
	for idx, addr := range a.Address {
		at := fmt.Sprintf("%s.address[%d]", family, idx)
		switch {
		case addr.IP.Is6() != is6:
			n.errorf(i, at+".ip", "is %s, which is not an address of %s", addr.IP, family)
		case addr.PrefixLength > bits:
			n.errorf(i, at+".prefix-length", "is %d; it is at most %d", addr.PrefixLength, bits)
		case is6 && addr.IP.IsLinkLocalUnicast() && !addr.Learned():
			n.warnf(i, at+".ip", "is %s; link-local addresses are the kernel's, and left out", addr.IP)
		}
	}
}

func (n *network) checkIPv6(i *iface, ip *nmstate.IPv6) {
	if ip.On() && nmstate.Is(ip.Autoconf) && !nmstate.Is(ip.DHCP) {
		n.errorf(i, "ipv6.autoconf", "is true without dhcp, which NetworkManager cannot do; set dhcp too: it asks only if routers say so")
	}
	if strings.EqualFold(ip.DHCPDUID, "en") {
		n.errorf(i, "ipv6.dhcp-duid", "is en, which NetworkManager cannot make; write ll, llt, uuid or the identifier itself")
	}
	if ip.Token == "" || ip.Token == "::" {
		return
	}
	addr, err := netip.ParseAddr(ip.Token)
	switch {
	case err != nil || !addr.Is6() || [8]byte(addr.AsSlice()[:8]) != [8]byte{}:
		n.errorf(i, "ipv6.token", "is %q; the last half of an address after :: is wanted, such as ::1a", ip.Token)
	case isFalse(ip.Autoconf):
		n.errorf(i, "ipv6.token", "is %q, and autoconf is off, which would use it; remove one", ip.Token)
	}
}

// checkLoopback refuses lo without addresses, or with automatic ones.
func (n *network) checkLoopback(i *iface) {
	if i.IPv4 != nil && isFalse(i.IPv4.Enabled) || i.IPv6 != nil && isFalse(i.IPv6.Enabled) {
		n.errorf(i, "", "has a family disabled, which the loopback interface cannot have")
	}
	if i.IPv4.Automatic() || i.IPv6.Automatic() {
		n.errorf(i, "", "has automatic addresses, which the loopback interface cannot get")
	}
}
