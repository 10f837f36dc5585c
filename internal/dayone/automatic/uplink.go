package automatic

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cluster-network-operator/cno/internal/dayone/livestate"
)

// The generated bridges.
const (
	Bridge      = "br-ex"
	ExtraBridge = "br-ex1"
)

// ErrNoUplink means that no interface has a default route yet.
var ErrNoUplink = errors.New("no interface has a default route, and none is named for " + Bridge)

// Uplink returns the interface for br-ex, and the reason: the interface that the administrator selected, or else the one with the node's address, or else
// that of a default route, IPv4 before IPv6. The interface of an earlier boot has precedence over the last two while it has a default route, so that the
// choice is stable across boots.
func Uplink(live livestate.State, h Hints) (name, why string, err error) {
	if h.DefaultBridge != "" {
		if _, exists := live.Link(h.DefaultBridge); !exists {
			return "", "", fmt.Errorf("/%s names %s, and this host has no such interface", DefaultBridgeFile, h.DefaultBridge)
		}
		return h.DefaultBridge, "/" + DefaultBridgeFile + " names it", nil
	}
	holder, why := defaultUplink(live, h)
	if holder == "" {
		return "", "", ErrNoUplink
	}
	if under := below(live, holder); under != "" {
		return under, Bridge + " is over it already", nil
	}
	if h.Stored != "" && h.Stored != holder && h.Stored != h.ExtraBridge && hasDefault(live, h.Stored) {
		return h.Stored, "it was used at an earlier boot", nil
	}
	return holder, why, nil
}

func defaultUplink(live livestate.State, h Hints) (name, why string) {
	excluded := func(name string) bool { return name == ExtraBridge || name == h.ExtraBridge || name == "" }
	if ip, err := netip.ParseAddr(h.PrimaryIP); err == nil {
		for _, l := range live.Links {
			for _, a := range l.Addresses {
				if a.Prefix.Addr() == ip && !excluded(l.Name) {
					return l.Name, "it has the node's address " + h.PrimaryIP
				}
			}
		}
	}
	for _, six := range []bool{false, true} {
		defaults := slices.DeleteFunc(slices.Clone(live.Routes), func(r livestate.Route) bool {
			return !r.Default() || r.Table != livestate.MainTable || r.Destination.Addr().Is6() != six || excluded(r.Interface)
		})
		if len(defaults) > 0 {
			best := slices.MinFunc(defaults, func(a, b livestate.Route) int { return cmp.Compare(a.Metric, b.Metric) })
			return best.Interface, "it has the default route"
		}
	}
	return "", ""
}

// below returns the card below an existing generated bridge; empty if the interface is not one.
func below(live livestate.State, name string) string {
	b, ok := live.OVSBridge(name)
	if !ok {
		return ""
	}
	for _, p := range b.Ports {
		if len(p.Interfaces) == 1 && p.Interfaces[0].Type == "" {
			return p.Name
		}
	}
	return ""
}

func hasDefault(live livestate.State, name string) bool {
	return slices.ContainsFunc(live.Routes, func(r livestate.Route) bool { return r.Interface == name && r.Default() })
}
