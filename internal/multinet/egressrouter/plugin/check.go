package plugin

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/defaultroute"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

// errDiffers returns the error that the pod's network differs from the result of ADD.
func errDiffers(format string, args ...any) error {
	return types.NewError(egressrouter.CodeDiffers, fmt.Sprintf(format, args...), "")
}

// check compares the pod's interface, address, routes, settings and rules with those of ADD.
func (p Plugin) check(args *skel.CmdArgs) error {
	a, pod, err := p.open(args)
	if err != nil {
		return err
	}
	defer func() { _ = pod.Close() }()
	master, err := a.findMaster()
	if err != nil {
		return err
	}
	return pod.Do(func(ns.NetNS) error {
		link, err := a.checkLink(master)
		if err != nil {
			return err
		}
		for _, check := range []func(netlink.Link) error{a.checkAddress, a.checkRoutes, a.checkSettings} {
			if err := check(link); err != nil {
				return err
			}
		}
		return checkTable(egressrouter.Rules(&a.conf, a.link))
	})
}

func (a *attachment) checkLink(master netlink.Link) (netlink.Link, error) {
	link, err := netlink.LinkByName(a.link)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, errDiffers("the pod has no interface %s", a.link)
	}
	if err != nil {
		return nil, fmt.Errorf("read interface %s: %w", a.link, err)
	}
	macvlan, ok := link.(*netlink.Macvlan)
	mtu := a.conf.MTU
	if mtu == 0 {
		mtu = master.Attrs().MTU
	}
	switch attrs := link.Attrs(); {
	case !ok:
		return nil, errDiffers("interface %s is a %s; must be a macvlan", a.link, link.Type())
	case macvlan.Mode != macvlanModes[a.conf.Mode]:
		return nil, errDiffers("interface %s has another macvlan mode than %s", a.link, a.conf.Mode)
	case attrs.ParentIndex != master.Attrs().Index:
		return nil, errDiffers("the master of interface %s is not %s", a.link, master.Attrs().Name)
	case attrs.MTU > mtu:
		return nil, errDiffers("interface %s has MTU %d; must be %d", a.link, attrs.MTU, mtu)
	case attrs.RawFlags&unix.IFF_UP == 0:
		return nil, errDiffers("interface %s is down", a.link)
	}
	return link, nil
}

func (a *attachment) checkAddress(link netlink.Link) error {
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, number(a.conf.Family())) })
	if err != nil {
		return fmt.Errorf("list addresses of interface %s: %w", a.link, err)
	}
	for _, address := range addresses {
		ip, _ := netip.AddrFromSlice(address.IP)
		bits, _ := address.Mask.Size()
		if netip.PrefixFrom(ip.Unmap(), bits) != a.conf.Address {
			continue
		}
		if address.Flags&unix.IFA_F_DADFAILED != 0 {
			return errDiffers("address %s of interface %s is taken by another machine", a.conf.Address, a.link)
		}
		return nil
	}
	return errDiffers("interface %s has no address %s", a.link, a.conf.Address)
}

func (a *attachment) checkRoutes(link netlink.Link) error {
	main, err := routes(number(a.conf.Family()), unix.RT_TABLE_MAIN)
	if err != nil {
		return err
	}
	found := false
	for _, route := range main {
		if !defaultroute.IsDefault(route) {
			continue
		}
		gateway, _ := netip.AddrFromSlice(route.Gw)
		if route.LinkIndex != link.Attrs().Index || gateway.Unmap() != a.conf.Gateway {
			return errDiffers("the pod has another %s default route: %s", a.conf.Family(), route)
		}
		found = true
	}
	if !found {
		return errDiffers("the pod has no %s default route by %s", a.conf.Family(), a.conf.Gateway)
	}
	rules, err := netlinkdump.All(func() ([]netlink.Rule, error) { return netlink.RuleList(number(a.conf.Family())) })
	if err != nil {
		return fmt.Errorf("list policy rules: %w", err)
	}
	marked := false
	for _, rule := range rules {
		marked = marked || rule.Mark == egressrouter.Mark && rule.Table == egressrouter.RouteTable && rule.Priority == egressrouter.RulePriority
	}
	clients, err := routes(number(a.conf.Family()), egressrouter.RouteTable)
	if err != nil {
		return err
	}
	if !marked || len(clients) == 0 {
		return errDiffers("the policy rule or the routes for clients are missing (table %d)", egressrouter.RouteTable)
	}
	return nil
}

func (a *attachment) checkSettings(netlink.Link) error {
	for _, s := range append(egressrouter.LinkSettings(a.conf.Family(), a.link), egressrouter.PodSettings(a.conf.Family())...) {
		live, err := os.ReadFile(filepath.Join(sysctlRoot, s.Name))
		if err != nil {
			return fmt.Errorf("read kernel setting: %w", err)
		}
		if value := strings.TrimSpace(string(live)); value != s.Value {
			return errDiffers("kernel setting %s of the pod is %s; must be %s", s.Name, value, s.Value)
		}
	}
	return nil
}
