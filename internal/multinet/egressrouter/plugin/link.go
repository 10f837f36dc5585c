package plugin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/defaultroute"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/multinet/egressrouter"
)

var macvlanModes = map[string]netlink.MacvlanMode{
	"bridge": netlink.MACVLAN_MODE_BRIDGE, "private": netlink.MACVLAN_MODE_PRIVATE, "vepa": netlink.MACVLAN_MODE_VEPA, "passthru": netlink.MACVLAN_MODE_PASSTHRU,
}

// aliasPrefix begins the alias of the interfaces of this plugin, which ends with the family. The alias identifies the interface for administrators and
// for DEL.
const aliasPrefix = egressrouter.Type + " "

// noMaster is the error that the node has no interface that can be the master.
func noMaster(format string, args ...any) error {
	return failed(egressrouter.NoMaster(format, args...))
}

// failed returns a failure as a CNI error.
func failed(f egressrouter.Failure) error { return types.NewError(f.Code, f.String(), "") }

// master returns the node's interface on which the macvlan is created.
func (a *attachment) master() (netlink.Link, error) {
	master, err := a.findMaster()
	if err != nil {
		return nil, err
	}
	name, mtu := master.Attrs().Name, master.Attrs().MTU
	if master.Attrs().Flags&net.FlagUp == 0 {
		return nil, noMaster("interface %s of the node is down", name)
	}
	if a.conf.MTU > mtu {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("interfaceArgs.mtu: %d is more than the MTU %d of interface %s of the node", a.conf.MTU, mtu, name), "")
	}
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("list the node's addresses: %w", err)
	}
	for _, address := range addresses {
		ip, _ := netip.AddrFromSlice(address.IP)
		switch ip = ip.Unmap(); {
		case ip == a.conf.Address.Addr():
			// A macvlan cannot communicate with its own node.
			return nil, failed(egressrouter.Taken(ip, "this node"))
		case address.LinkIndex == master.Attrs().Index && a.conf.Mode == "passthru" && ip.IsGlobalUnicast():
			return nil, noMaster("interface %s has the node's address %s, and macvlan mode passthru would take it over; use bridge, private or vepa, or another master", name, ip)
		}
	}
	return master, nil
}

func (a *attachment) findMaster() (netlink.Link, error) {
	if a.conf.Master != "" {
		master, err := netlink.LinkByName(a.conf.Master)
		if errors.As(err, new(netlink.LinkNotFoundError)) {
			return nil, noMaster("the node has no interface %s", a.conf.Master)
		}
		if err != nil {
			return nil, fmt.Errorf("read interface %s: %w", a.conf.Master, err)
		}
		return master, nil
	}
	families := []int{netlink.FAMILY_V4, netlink.FAMILY_V6}
	if a.conf.Family() == egressrouter.IPv6 {
		families[0], families[1] = families[1], families[0]
	}
	for _, family := range families {
		index, err := defaultroute.Link(&netlink.Handle{}, family)
		if errors.Is(err, defaultroute.ErrNoRoute) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return netlink.LinkByIndex(index)
	}
	return nil, noMaster("the node has no default route, and the configuration no interfaceArgs.master; name one")
}

// checkUnused returns an error if the pod has the interface already, or another attachment of the family.
func (a *attachment) checkUnused() error {
	if _, err := netlink.LinkByName(a.link); err == nil {
		return types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("the pod has an interface %s already", a.link), "")
	}
	if _, err := netlink.LinkByName(egressrouter.ClientInterface); err != nil {
		return types.NewError(types.ErrInvalidNetNS, fmt.Sprintf("the pod has no interface %s: %v", egressrouter.ClientInterface, err), "")
	}
	holder, err := holderOf(a.conf.Family())
	if err == nil && holder != "" {
		return types.NewError(types.ErrInvalidNetworkConfig, fmt.Sprintf("the pod's interface %s is an egress router's %s attachment already; a pod can have one of each family", holder, a.conf.Family()), "")
	}
	return err
}

// holderOf returns the interface of the pod that is the attachment of a family, empty if there is none.
func holderOf(f egressrouter.Family) (string, error) {
	links, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return "", fmt.Errorf("list the pod's interfaces: %w", err)
	}
	for _, link := range links {
		if link.Attrs().Alias == aliasPrefix+string(f) {
			return link.Attrs().Name, nil
		}
	}
	return "", nil
}

// familyOf returns the family of an interface; ok is false for an interface that this plugin did not create.
func familyOf(name string) (egressrouter.Family, bool) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return "", false
	}
	family, ok := strings.CutPrefix(link.Attrs().Alias, aliasPrefix)
	return egressrouter.Family(family), ok && (family == string(egressrouter.IPv4) || family == string(egressrouter.IPv6))
}

// create creates the macvlan in the pod, and returns its temporary name. The final name may be that of an interface of the node, and the kernel would
// refuse it at creation.
func (a *attachment) create(master netlink.Link, pod ns.NetNS) (string, error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "egress" + strings.ToLower(rand.Text()[:8])
	attrs.ParentIndex = master.Attrs().Index
	attrs.Namespace = netlink.NsFd(int(pod.Fd()))
	attrs.MTU = a.conf.MTU
	if attrs.MTU == 0 {
		attrs.MTU = master.Attrs().MTU
	}
	err := netlink.LinkAdd(&netlink.Macvlan{LinkAttrs: attrs, Mode: macvlanModes[a.conf.Mode]})
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EBUSY):
		return "", noMaster("interface %s of the node cannot have a macvlan in mode %s (%v); another macvlan in mode passthru, or a bridge or bond, may use it", master.Attrs().Name, a.conf.Mode, err)
	case err != nil:
		return "", fmt.Errorf("create a macvlan on interface %s of the node: %w", master.Attrs().Name, err)
	}
	a.log.Debug("created macvlan", "master", master.Attrs().Name, "mode", a.conf.Mode, "mtu", attrs.MTU)
	return attrs.Name, nil
}
