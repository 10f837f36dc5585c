package node

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// applyNeighbors reconciles the permanent entries of the vxlan devices. Other interfaces are not changed.
func (out *outcome) applyNeighbors(on links, want []neighbor, sweep bool) {
	names := []string{on.IPv4, on.IPv6}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		link, err := netlink.LinkByName(name)
		if name == "" || err != nil || link.Type() != "vxlan" {
			continue
		}
		live, err := readNeighbors(link)
		if err != nil {
			out.Errors = append(out.Errors, err)
			continue
		}
		desired := slices.DeleteFunc(slices.Clone(want), func(n neighbor) bool { return n.Link != name })
		set, remove := compareNeighborSets(desired, live)
		if sweep {
			// Old entries first: a MAC address has one destination, so that deleting the old entry later would also delete the new one.
			out.changeNeighbors(link, remove, netlink.NeighDel, &out.Removed)
		}
		out.changeNeighbors(link, set, netlink.NeighSet, &out.Set)
	}
}

func (out *outcome) changeNeighbors(link netlink.Link, list []neighbor, change func(*netlink.Neigh) error, count *int) {
	for _, n := range list {
		entry, err := kernelNeighbor(link, n)
		if err == nil {
			err = change(entry)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			out.Errors = append(out.Errors, fmt.Errorf("change neighbour %s (%s) of %s: %w", n.IP, n.MAC, n.Link, err))
			continue
		}
		*count++
	}
}

func kernelNeighbor(link netlink.Link, n neighbor) (*netlink.Neigh, error) {
	mac, err := net.ParseMAC(n.MAC)
	if err != nil {
		return nil, err
	}
	entry := &netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: n.IP.AsSlice(), HardwareAddr: mac}
	if n.Forward {
		entry.Family, entry.Flags = unix.AF_BRIDGE, netlink.NTF_SELF
	} else {
		entry.Type = unix.RTN_UNICAST
	}
	return entry, nil
}

// readNeighbors returns the permanent entries of a vxlan device.
func readNeighbors(link netlink.Link) ([]neighbor, error) {
	var out []neighbor
	for _, family := range []int{unix.AF_INET, unix.AF_INET6, unix.AF_BRIDGE} {
		list, err := netlinkdump.All(func() ([]netlink.Neigh, error) { return netlink.NeighList(link.Attrs().Index, family) })
		if err != nil {
			return nil, fmt.Errorf("list neighbours of %s: %w", link.Attrs().Name, err)
		}
		for _, n := range list {
			addr, ok := netip.AddrFromSlice(n.IP)
			if !ok || n.State&netlink.NUD_PERMANENT == 0 || len(n.HardwareAddr) == 0 || addr.IsMulticast() {
				continue
			}
			out = append(out, neighbor{
				Link: link.Attrs().Name, IP: addr.Unmap(), MAC: n.HardwareAddr.String(), Forward: family == unix.AF_BRIDGE,
			})
		}
	}
	return out, nil
}
