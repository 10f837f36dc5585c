package networkmanager

import (
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/dayone/nmconn"
)

// profile is a keyfile to write.
type profile struct {
	file    string // name without directory
	content string
	uuid    string
	kind    string // NetworkManager's word for the type
	device  string // the interface name; empty if the device is found by its MAC address
	// active is true if the profile should be activated, and false for interfaces that are down.
	active bool
	// internal is true for the internal port of an Open vSwitch bridge.
	internal bool
	// parent is the parent device of a VLAN or similar interface.
	parent string
	// bond is the bond that the device is a port of.
	bond string
}

// Sections and values of keyfiles.
const (
	kindBond         = "bond"
	kindBridgeOVS    = "ovs-bridge"
	kindPortOVS      = "ovs-port"
	kindInterfaceOVS = "ovs-interface"
)

// volatilePriority gives a profile in memory precedence over profiles on disk for the same device.
const volatilePriority = "100"

// profilesOf reads keyfiles that package nmconn generated.
func profilesOf(files []nmconn.File, volatile bool) []profile {
	profiles := make([]profile, 0, len(files))
	for _, f := range files {
		k := parseKeyfile(f.Content)
		if volatile {
			k.set("connection", "autoconnect-priority", volatilePriority)
			f.Content = k.String()
		}
		profiles = append(profiles, newProfile(f.Name, f.Content, k))
	}
	return profiles
}

func newProfile(file, content string, k keyfile) profile {
	parent := ""
	for _, kind := range []string{"vlan", "vxlan", "macvlan", "ipvlan", "macsec", "infiniband"} {
		parent += k.get(kind, "parent") // a profile has one of them at most
	}
	bond := ""
	if k.get("connection", "slave-type") == kindBond {
		bond = k.get("connection", "master")
	}
	return profile{
		parent: parent, bond: bond, file: file, content: content, uuid: k.get("connection", "uuid"), kind: k.get("connection", "type"),
		device: k.get("connection", "interface-name"), active: k.get("connection", "autoconnect") != "false",
		internal: k.get("connection", "type") == kindInterfaceOVS && k.get(kindInterfaceOVS, "type") == "internal",
	}
}

// withoutPlugin converts profiles for a NetworkManager without support for Open vSwitch: it removes bridges, ports and patches; a device that is attached to a
// bridge becomes a standalone device without addresses; an internal port becomes a profile for the device that Open vSwitch creates. That profile is not
// activated automatically, because NetworkManager would create the device before Open vSwitch does.
func withoutPlugin(profiles []profile) []profile {
	var out []profile
	for _, p := range profiles {
		k := parseKeyfile(p.content)
		switch {
		case p.kind == kindBridgeOVS || p.kind == kindPortOVS || p.kind == kindInterfaceOVS && !p.internal:
			continue
		case p.internal:
			k.set("connection", "type", "tun")
			k.set("connection", "autoconnect", "false")
			k.drop("ethernet")
			k.set("tun", "mode", "2")
		case k.get("connection", "slave-type") == kindPortOVS:
			k.set("ipv4", "method", "disabled")
			k.set("ipv6", "method", "disabled")
		default:
			k.drop("ovs-external-ids", "ovs-other-config")
			out = append(out, p)
			continue
		}
		k.remove("connection", "master")
		k.remove("connection", "slave-type")
		k.drop("ovs-external-ids", "ovs-other-config", kindInterfaceOVS)
		next := newProfile(p.file, k.String(), k)
		next.active, next.internal = p.active, p.internal
		out = append(out, next)
	}
	return out
}

// forGeneric returns the profile of an internal port for a device of type generic, which NetworkManager uses for internal ports of the kernel's datapath.
func forGeneric(p profile) profile {
	k := parseKeyfile(p.content)
	k.set("connection", "type", "generic")
	k.drop("tun")
	next := newProfile(p.file, k.String(), k)
	next.active, next.internal = p.active, p.internal
	return next
}

// inOrder sorts profiles for activation: controllers before their ports, as they were generated; then internal ports, because Open vSwitch removes their
// routes when another port is attached after them; and last their child interfaces.
func inOrder(profiles []profile) []profile {
	late := map[string]int{"": 0}
	for _, p := range profiles {
		if p.internal {
			late[p.device] = 1
		}
	}
	// VLANs may be nested. Each round finds one more level.
	for range profiles {
		for _, p := range profiles {
			if below := late[p.parent]; below > 0 && late[p.device] <= below && p.parent != p.device {
				late[p.device] = below + 1
			}
		}
	}
	rank := func(p profile) int {
		if p.internal || p.parent != "" {
			return late[p.device]
		}
		return 0
	}
	out := slices.Clone(profiles)
	slices.SortStableFunc(out, func(a, b profile) int { return rank(a) - rank(b) })
	return out
}

// isKeyfile reports whether NetworkManager would read a file of this name.
func isKeyfile(name string) bool {
	return strings.HasSuffix(name, ".nmconnection") && !strings.HasPrefix(name, ".")
}
