package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// enter moves the process to the network namespace of the pod with an address. Like pin it re-executes the process, and returns in the
// namespace, or immediately if the address is empty.
func enter(address string) error {
	if address == "" {
		return nil
	}
	wanted, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range own {
		if ip, ok := a.(*net.IPNet); ok && hasAddress(ip, wanted) {
			return nil
		}
	}
	h, err := namespaceOf(wanted)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := netns.Set(h); err != nil {
		return fmt.Errorf("enter the network namespace of %s: %w", address, err)
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

// namespaceOf returns the named network namespace of this node that has an address.
func namespaceOf(wanted netip.Addr) (netns.NsHandle, error) {
	paths, err := filepath.Glob("/run/netns/*")
	if err != nil {
		return netns.None(), err
	}
	for _, path := range paths {
		h, err := netns.GetFromPath(path)
		if err != nil {
			continue // deleted in the meantime
		}
		if owns(h, wanted) {
			return h, nil
		}
		_ = h.Close()
	}
	return netns.None(), fmt.Errorf("no network namespace in /run/netns has the address %s", wanted)
}

// owns reports whether an interface of a network namespace has an address. A file without a namespace has none.
func owns(h netns.NsHandle, wanted netip.Addr) bool {
	n, err := netlink.NewHandleAt(h)
	if err != nil {
		return false
	}
	defer n.Close()
	addresses, err := n.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return false
	}
	for _, a := range addresses {
		if hasAddress(a.IPNet, wanted) {
			return true
		}
	}
	return false
}

func hasAddress(ip *net.IPNet, wanted netip.Addr) bool {
	p, ok := netaddr.FromIPNet(ip)
	return ok && p.Addr() == wanted
}
