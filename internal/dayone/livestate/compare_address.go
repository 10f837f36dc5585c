package livestate

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmstate"
)

// family is the configuration of an IP family of an interface in a document.
type family struct {
	name      string
	auto      nmstate.Auto
	on        bool // enabled
	automatic bool
	six       bool
}

func families(i *nmstate.Interface) []family {
	var out []family
	if i.IPv4 != nil {
		out = append(out, family{name: "ipv4", auto: i.IPv4.Auto, on: i.IPv4.On(), automatic: i.IPv4.Automatic()})
	}
	if i.IPv6 != nil {
		out = append(out, family{name: "ipv6", auto: i.IPv6.Auto, on: i.IPv6.On(), automatic: i.IPv6.Automatic(), six: true})
	}
	return out
}

func (c *comparison) addresses(want *nmstate.Interface, existing *Link) {
	missing := map[string]bool{} // automatic families without an address
	for _, f := range families(want) {
		live := ofFamily(existing.Addresses, f.six)
		if !f.on {
			// A port of a bond or a bridge must have no addresses except the kernel's link-local one.
			c.differ(f.name, "", prefixes(global(live)))
			continue
		}
		c.static(f, live)
		if f.automatic && len(global(live)) == 0 {
			missing[f.name] = true
		}
	}
	for name := range missing {
		if waitsFor(want, name, missing) {
			c.differ(name, "an automatic address", "")
		}
	}
}

func (c *comparison) static(f family, live []Address) {
	for _, a := range f.auto.Address {
		if a.Learned() || f.six && a.IP.IsLinkLocalUnicast() {
			continue
		}
		existing, found := find(live, a.Prefix())
		switch {
		case !found:
			c.differ(f.name+" address", a.Prefix().String(), prefixes(global(live)))
		case existing.Duplicate:
			c.differ(f.name+" address", a.Prefix().String(), "in use by another host too")
		case existing.Tentative:
			c.differ(f.name+" address", a.Prefix().String(), "tentative")
		}
	}
	if extra := f.auto.AllowExtraAddress; extra == nil || *extra {
		return
	}
	for _, a := range global(live) {
		wanted := func(w nmstate.Address) bool { return w.Prefix() == a.Prefix }
		if !a.Dynamic && !slices.ContainsFunc(f.auto.Address, wanted) {
			c.differ(f.name+" address", "", a.Prefix.String())
		}
	}
}

// waitsFor reports whether a missing address of an automatic family is a difference: if the document requires the family, and otherwise if no other automatic
// family has an address.
func waitsFor(i *nmstate.Interface, name string, missing map[string]bool) bool {
	switch i.WaitIP {
	case "ipv4", "ipv6":
		return string(i.WaitIP) == name
	case "ipv4+ipv6":
		return true
	}
	for _, f := range families(i) {
		if f.name != name && f.automatic && !missing[f.name] {
			return false
		}
	}
	// With IPv4, IPv6 without a router is normal; DHCP without a server is not.
	return name == "ipv4" || !i.IPv4.On()
}

func ofFamily(all []Address, six bool) []Address {
	var out []Address
	for _, a := range all {
		if a.Prefix.Addr().Is6() == six {
			out = append(out, a)
		}
	}
	return out
}

func global(all []Address) []Address {
	var out []Address
	for _, a := range all {
		if !a.Prefix.Addr().IsLinkLocalUnicast() || a.Prefix.Addr().Is4() {
			out = append(out, a)
		}
	}
	return out
}

func find(all []Address, p netip.Prefix) (Address, bool) {
	for _, a := range all {
		if a.Prefix == p {
			return a, true
		}
	}
	return Address{}, false
}

func prefixes(all []Address) string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Prefix.String()
	}
	return strings.Join(out, " ")
}
