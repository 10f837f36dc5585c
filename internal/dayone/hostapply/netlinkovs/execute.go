package netlinkovs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/lacp"
	"github.com/cluster-network-operator/cno/internal/dayone/hostapply/ovsbridge"
)

// execute executes steps in order, and stops after the first error. It logs each step before its execution.
func (b *Backend) execute(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Log.Debug("step", "do", s.String())
		if err := b.one(ctx, s); err != nil && !done(s, err) {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// done reports whether an error means that an earlier process, or the kernel as part of another step, has already done the step.
func done(s step, err error) bool {
	switch s.action {
	case removeAddress, removeRoute, removeRule:
		return errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOENT)
	case addRule:
		return errors.Is(err, syscall.EEXIST)
	}
	return false
}

func (b *Backend) one(ctx context.Context, s step) error {
	switch s.action {
	case createLink:
		return b.create(s.create)
	case changeOVS:
		return b.changeOVS(ctx, s.ovs)
	case addAddress, removeAddress, setController, setMAC, setMTU, setUp, setDown, setAllMulti, removeAltName, addAltName, deleteLink, getLease:
		link, err := b.Netlink.LinkByName(s.link)
		if err != nil {
			return err
		}
		return b.onLink(ctx, s, link)
	case setSysctl:
		return setSysctlOf(s.link, s.value)
	case addRoute, removeRoute:
		return b.route(s)
	case addRule, removeRule:
		return b.rule(s)
	case awaitLACP:
		return lacp.Await(ctx, b.Sys, []string{s.link}, hostapply.Sleep, b.Log)
	case setDNS:
		return writeResolvConf(b.ResolvConf, s.dns)
	case setHostname:
		return unix.Sethostname([]byte(s.value))
	}
	return fmt.Errorf("unknown step")
}

func (b *Backend) changeOVS(ctx context.Context, change ovsbridge.Change) error {
	err := b.OVS.Ensure(ctx, change)
	nothing := len(change.Bridges) == 0 && len(change.Switch.ExternalIDs) == 0 && len(change.Switch.OtherConfig) == 0
	if errors.Is(err, ovsbridge.ErrAbsent) && nothing {
		return nil // there is no bridge to remove
	}
	return err
}

func (b *Backend) onLink(ctx context.Context, s step, link netlink.Link) error {
	switch s.action {
	case deleteLink:
		return b.Netlink.LinkDel(link)
	case setController:
		return b.control(link, s.value)
	case setMAC:
		mac, err := net.ParseMAC(s.value)
		if err != nil {
			return err
		}
		return b.setMAC(link, mac)
	case setMTU:
		var mtu int
		if _, err := fmt.Sscan(s.value, &mtu); err != nil {
			return err
		}
		return b.Netlink.LinkSetMTU(link, mtu)
	case setUp:
		return b.Netlink.LinkSetUp(link)
	case setDown:
		return b.Netlink.LinkSetDown(link)
	case setAllMulti:
		return b.Netlink.LinkSetAllmulticastOn(link)
	case removeAltName:
		return b.Netlink.LinkDelAltName(link, s.value)
	case addAltName:
		return b.Netlink.LinkAddAltName(link, s.value)
	case addAddress:
		return b.Netlink.AddrReplace(link, kernelAddress(s.address))
	case removeAddress:
		return b.Netlink.AddrDel(link, kernelAddress(s.address))
	case getLease:
		return b.lease(ctx, s.link, *s.lease, s.dns)
	}
	return fmt.Errorf("unknown step of a link")
}

func (b *Backend) control(link netlink.Link, controller string) error {
	if controller == "" {
		return b.Netlink.LinkSetNoMaster(link)
	}
	master, err := b.Netlink.LinkByName(controller)
	if err != nil {
		return err
	}
	return b.Netlink.LinkSetMaster(link, master)
}

// setMAC sets the MAC address of a card. It takes the card down if the driver requires that.
func (b *Backend) setMAC(link netlink.Link, mac net.HardwareAddr) error {
	err := b.Netlink.LinkSetHardwareAddr(link, mac)
	if !errors.Is(err, syscall.EBUSY) || link.Attrs().Flags&net.FlagUp == 0 {
		return err
	}
	if err := b.Netlink.LinkSetDown(link); err != nil {
		return err
	}
	return errors.Join(b.Netlink.LinkSetHardwareAddr(link, mac), b.Netlink.LinkSetUp(link))
}

// setSysctlOf sets a sysctl, given as name=value, of a link. It ignores sysctls that this kernel does not have.
func setSysctlOf(link, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	path := sysctlPath(link, name)
	if current, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(current)) == value {
		return nil
	}
	err := os.WriteFile(path, []byte(value), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func sysctlPath(link, name string) string {
	return filepath.Join("/proc/sys/net/ipv6/conf", filepath.Base(link), name)
}
