package daemon

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/config"
)

// kernelDatapath is the generic netlink family of the kernel's datapath.
const kernelDatapath = "ovs_datapath"

// TunnelBridge is the bridge whose local port has the tunnel endpoint's address, with the userspace datapath.
const TunnelBridge = "br-tun"

// Underlay returns the way of tunnel packets, without its MTU, and whether there is one: with the kernel's datapath it is the node's own
// network.
func Underlay(c config.Config) (ovs.Underlay, bool, error) {
	userspace := c.Datapath == config.DatapathUserspace
	if c.Datapath == config.DatapathAuto {
		_, err := netlink.GenlFamilyGet(kernelDatapath)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return ovs.Underlay{}, false, fmt.Errorf("find out whether the kernel has the datapath of Open vSwitch: %w", err)
		}
		userspace = err != nil
	}
	return ovs.Underlay{
		Namespace: c.Directories.SwitchNamespace, Bridge: TunnelBridge, Node: c.TunnelAddress, Ports: []uint16{c.TunnelPort}, ProcSys: c.Directories.ProcSys,
	}, userspace, nil
}

// UnderlayMTU is the MTU of the interface that has the node's address.
func UnderlayMTU(address netip.Addr) (int, error) {
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return 0, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range addresses {
		if found, ok := netip.AddrFromSlice(a.IP); !ok || found.Unmap() != address.Unmap() {
			continue
		}
		link, err := netlink.LinkByIndex(a.LinkIndex)
		if err != nil {
			return 0, fmt.Errorf("read the interface with address %s: %w", address, err)
		}
		return link.Attrs().MTU, nil
	}
	return 0, fmt.Errorf("no interface of the node has its address %s", address)
}
