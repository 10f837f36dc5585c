package nmconn

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// The rules below are those for which NetworkManager drops a whole file, determined with its own parser, which the tests also run.

// checkIPDropped refuses values in the IP sections for which NetworkManager drops the file.
func (n *network) checkIPDropped(i *iface) {
	if !i.mayHaveIP() || i.ovsBridge() {
		return
	}
	for _, is6 := range []bool{false, true} {
		a, automatic := i.auto(is6)
		if a != nil && !automatic && len(static(a)) == 0 && len(i.family(is6).routes) > 0 {
			n.dropf(i, familyName(is6)+".address", "is missing, and %s refers to the interface; NetworkManager before 1.44 wants an address beside routes", i.family(is6).routes[0].path)
		}
	}
	if ip := i.IPv6; ip.Automatic() && token(ip.Token) != "" && addrGenMode(ip) != 0 {
		n.dropf(i, "ipv6.token", "is %q, and addr-gen-mode %s, which uses no token; use eui64", ip.Token, ip.AddrGenMode)
	}
	if m := i.MPTCP; m != nil && slices.Contains(m.AddressFlags, "signal") && slices.Contains(m.AddressFlags, "fullmesh") {
		n.errorf(i, "mptcp.address-flags", "are signal and fullmesh; an address can have only one of them")
	}
}

// checkVXLAN refuses invalid addresses, and addresses of different families.
func (n *network) checkVXLAN(i *iface) {
	v := i.VXLAN
	if v.ID >= 1<<24 {
		n.errorf(i, "vxlan.id", "is %d; it is at most %d", v.ID, 1<<24-1)
	}
	var family []bool
	for _, end := range []struct{ key, text string }{{"remote", v.Remote}, {"local", v.Local}} {
		if end.text == "" {
			continue
		}
		addr, err := netip.ParseAddr(end.text)
		if err != nil || addr.Zone() != "" {
			n.errorf(i, "vxlan."+end.key, "is %q, which is not an IP address", end.text)
			continue
		}
		family = append(family, addr.Is6())
	}
	if len(family) == 2 && family[0] != family[1] {
		n.dropf(i, "vxlan.local", "is %s, and remote %s is of the other family", v.Local, v.Remote)
	}
}

// checkEAP refuses authentication without the settings that its method needs.
func (n *network) checkEAP(i *iface) {
	e := i.IEEE8021X
	if e == nil {
		return
	}
	if len(e.EAPMethods) == 0 {
		n.dropf(i, "802.1x.eap-methods", "is missing; name a method, such as tls or peap")
	}
	known := []string{"leap", "md5", "tls", "peap", "ttls", "fast", "pwd"}
	for idx, method := range e.EAPMethods {
		switch {
		case !slices.Contains(known, method):
			n.dropf(i, fmt.Sprintf("802.1x.eap-methods[%d]", idx), "is %q; known for wired networks are %s", method, strings.Join(known, ", "))
		case method == "tls":
			n.needEAP(i, method, "client-cert", e.ClientCert)
			n.needEAP(i, method, "private-key", e.PrivateKey)
		default:
			n.needEAP(i, method, "identity", e.Identity)
			if method == "peap" || method == "ttls" {
				n.needEAP(i, method, "phase2-auth", e.Phase2Auth)
			}
		}
	}
	inner := []string{"pap", "chap", "mschap", "mschapv2", "gtc", "otp", "md5", "tls"}
	if e.Phase2Auth != "" && !slices.Contains(inner, e.Phase2Auth) {
		n.dropf(i, "802.1x.phase2-auth", "is %q; known are %s", e.Phase2Auth, strings.Join(inner, ", "))
	}
}

func (n *network) needEAP(i *iface, method, key, value string) {
	if value == "" {
		n.dropf(i, "802.1x."+key, "is missing; method %s needs it", method)
	}
}

// checkInfiniBand refuses a device without its mode, and a child under another name than the kernel's.
func (n *network) checkInfiniBand(i *iface) {
	ib := i.InfiniBand
	if ib == nil {
		n.dropf(i, "infiniband", "is missing; an interface of type infiniband needs it")
		return
	}
	if ib.PKey == nil || *ib.PKey == 0xffff {
		return
	}
	switch key := *ib.PKey; {
	case key&0x7fff == 0:
		n.dropf(i, "infiniband.pkey", "is %#x; a partition is not 0", key)
	case ib.BaseIface == "":
		n.dropf(i, "infiniband.base-iface", "is missing; pkey %#x makes a child of another interface", key)
	case !i.Found() && i.Name != fmt.Sprintf("%s.%04x", ib.BaseIface, key):
		n.dropf(i, "name", "is %q; the kernel names this child %s.%04x", i.Name, ib.BaseIface, key)
	}
}

// checkName refuses names that the kernel, Open vSwitch or NetworkManager do not accept.
func (n *network) checkName(i *iface) {
	const longest = 15 // IFNAMSIZ of the kernel, without the zero at its end
	found := !i.Kept() || i.Found()
	switch {
	case i.Name == "":
		n.errorf(i, "name", "is empty")
	case strings.ContainsAny(i.Name, "/ \t\n\x00") || i.Name == "." || i.Name == "..":
		n.errorf(i, "name", "is %q; the kernel allows no slash and no space in a name", i.Name)
	case found:
	case len(i.Name) > longest && !i.ovsBridge() && !strings.HasPrefix(i.Name, "sriov:"):
		n.errorf(i, "name", "is %q, which has more than the %d letters the kernel allows", i.Name, longest)
	case i.ovsBridge():
		n.checkOVSName(i, "name", i.Name)
	default:
		n.checkDeviceName(i, "name", i.Name)
		if i.Type == nmstate.TypeOVSInterface {
			n.checkOVSName(i, "name", i.Name)
		}
	}
}

// checkDeviceName refuses names of devices that NetworkManager does not accept.
func (n *network) checkDeviceName(i *iface, key, name string) {
	switch {
	case strings.HasPrefix(name, "sriov:"):
		n.dropf(i, key, "is %q; no device has such a name, and NetworkManager takes none. Write the name of the virtual function, or find it with identifier: pci-address", name)
	case strings.ContainsAny(name, ":%"):
		n.dropf(i, key, "is %q; NetworkManager takes no colon and no percent sign in a name", name)
	case slices.Contains([]string{"all", "default", "bonding_masters"}, name):
		n.dropf(i, key, "is %q, a name that the kernel uses itself", name)
	}
}

// checkOVSName refuses names in Open vSwitch that NetworkManager does not accept.
func (n *network) checkOVSName(i *iface, key, name string) {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '/' }) {
		n.dropf(i, key, "is %q; names in Open vSwitch have letters of ASCII, and no slash or backslash", name)
	}
}
