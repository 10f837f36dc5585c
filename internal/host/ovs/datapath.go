package ovs

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
)

// kernelDatapath is the generic netlink family of the kernel's datapath.
const kernelDatapath = "ovs_datapath"

// KernelDatapath reports whether the kernel has the datapath of Open vSwitch. Otherwise the userspace datapath is used.
func KernelDatapath() (bool, error) {
	_, err := netlink.GenlFamilyGet(kernelDatapath)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return false, fmt.Errorf("detect the kernel datapath of Open vSwitch: %w", err)
	}
	return err == nil, nil
}

// MTUOf returns the MTU of the interface that has the node's address.
func MTUOf(address netip.Addr) (int, error) {
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
