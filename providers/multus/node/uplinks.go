package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/cluster-network-operator/cno/internal/multinet/attach"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// Uplinks returns the interfaces of this network namespace that have an address besides those of the link and of loopback, or a default route.
func Uplinks() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	addresses, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	needed := map[int]bool{}
	for _, a := range addresses {
		needed[a.LinkIndex] = needed[a.LinkIndex] || a.IP.IsGlobalUnicast()
	}
	for _, r := range routes {
		if ones := prefixLength(r); ones == 0 {
			needed[r.LinkIndex] = true
			for _, hop := range r.MultiPath {
				needed[hop.LinkIndex] = true
			}
		}
	}
	var names []string
	for _, l := range links {
		if needed[l.Attrs().Index] {
			names = append(names, l.Attrs().Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func prefixLength(r netlink.Route) int {
	if r.Dst == nil {
		return 0
	}
	ones, _ := r.Dst.Mask.Size()
	return ones
}

// Remove removes what the daemon and the shim have left on the node, once no pod has further networks there any more. The shim itself stays
// for the sandboxes whose configuration names it.
func Remove(config agentconfig.Config) error {
	all, err := attach.ReadSaved(config.StateDir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s attach.Saved) bool { return len(s.Networks) > 1 }) {
		return errors.New("pods on this node still have further networks; delete them first")
	}
	for _, socket := range []string{config.Socket, config.DHCPSocket, config.DHCPLegacySocket} {
		if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	// No pod has a lease any more. The directory itself is a mount.
	for _, left := range []string{"leases", "attachments", "lock"} {
		if err := os.RemoveAll(filepath.Join(config.DHCPDir, left)); err != nil {
			return fmt.Errorf("remove leases: %w", err)
		}
	}
	return nil
}
