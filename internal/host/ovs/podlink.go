package ovs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/podmtu"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// procSys is the directory of sysctls.
const procSys = "/proc/sys"

// PodLinkName returns the name of the node's end of a pod's link, which is a function of the sandbox and the interface. The limit of the kernel is 15
// characters, of which the prefix may have 5.
func PodLinkName(prefix, containerID, ifName string) string {
	sum := sha256.Sum256([]byte(containerID + "/" + ifName))
	return prefix + hex.EncodeToString(sum[:5])
}

// PodLink is the veth pair of a pod.
type PodLink struct {
	// Name is the name of the node's end. Pod is the path of the pod's network namespace, and PodName the name of the interface in it.
	Name, Pod, PodName string
	// MTU is the MTU of both ends in bytes; RoutableMTU is the MTU of the pod's routes, 0 for the same.
	MTU, RoutableMTU int
	// MAC, Addresses and Routes are those of the pod's interface.
	MAC       net.HardwareAddr
	Addresses []netip.Prefix
	Routes    []Route
	// Place is the network namespace of the node's end.
	Place Place
	// Userspace is true with the userspace datapath.
	Userspace bool
}

// Route is a route of a pod. Via is the next hop; the zero address means that the destination is on the link.
type Route struct {
	To  netip.Prefix
	Via netip.Addr
}

// Create creates the link, and returns the hardware address of the node's end.
func (l PodLink) Create() (net.HardwareAddr, error) {
	inside, err := netns.GetFromPath(l.Pod)
	if err != nil {
		return nil, cniproto.Errorf(cniproto.CodeUnknownContainer, "open the pod's network namespace %s: %v", l.Pod, err)
	}
	defer inside.Close()
	outside, err := l.Place.Handle()
	if err != nil {
		return nil, err
	}
	defer outside.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.MTU = l.Name, l.MTU
	pair := &netlink.Veth{LinkAttrs: attributes, PeerName: l.PodName, PeerNamespace: netlink.NsFd(inside), PeerHardwareAddr: l.MAC, PeerMTU: uint32(l.MTU)}
	if err := outside.LinkAdd(pair); err != nil {
		return nil, fmt.Errorf("add the pod's link: %w", err)
	}
	near, err := outside.LinkByName(l.Name)
	if err != nil {
		return nil, fmt.Errorf("read the pod's link: %w", err)
	}
	if err := outside.LinkSetUp(near); err != nil {
		return nil, fmt.Errorf("set the node's end of the pod's link up: %w", err)
	}
	if err := ns.WithNetNSPath(l.Pod, func(ns.NetNS) error { return l.configurePod() }); err != nil {
		return nil, fmt.Errorf("configure the pod's interface: %w", err)
	}
	return near.Attrs().HardwareAddr, nil
}

// configurePod configures the pod's end. It is called in the pod's namespace.
func (l PodLink) configurePod() error {
	far, err := netlink.LinkByName(l.PodName)
	if err != nil {
		return err
	}
	var errs []error
	if l.Userspace {
		errs = append(errs, DisableTxOffload(l.PodName))
	}
	for _, a := range l.Addresses {
		if a.Addr().Is6() {
			errs = append(errs, sysctl.Set(procSys, "net/ipv6/conf/"+l.PodName+"/disable_ipv6", "0"))
		}
	}
	errs = append(errs, netlink.LinkSetUp(far))
	for _, a := range l.Addresses {
		flags := 0
		if a.Addr().Is6() {
			flags = unix.IFA_F_NODAD // addresses are unique
		}
		errs = append(errs, netlink.AddrReplace(far, &netlink.Addr{IPNet: netaddr.IPNet(a), Flags: flags}))
	}
	for _, r := range l.Routes {
		route := &netlink.Route{LinkIndex: far.Attrs().Index, Dst: netaddr.IPNet(r.To)}
		if r.Via.IsValid() {
			route.Gw = r.Via.AsSlice()
		} else {
			route.Scope = netlink.SCOPE_LINK
		}
		errs = append(errs, netlink.RouteReplace(route))
	}
	if l.RoutableMTU != 0 && errors.Join(errs...) == nil {
		here, err := netlink.NewHandle()
		if err != nil {
			return err
		}
		defer here.Close()
		errs = append(errs, podmtu.LimitRoutes(here, far, l.RoutableMTU))
	}
	return errors.Join(errs...)
}

// SetMTU changes the MTU of an existing link without packet loss (package podmtu). It uses Name, Pod, PodName and Place; without Pod, the link is that of
// the node to its bridge.
func (l PodLink) SetMTU(mtu, routable int) error {
	enter := func(f func() error) error {
		if l.Pod == "" {
			return f()
		}
		return ns.WithNetNSPath(l.Pod, func(ns.NetNS) error { return f() })
	}
	return l.withEnds(func(e ends) error {
		return podmtu.Link{Outside: e.outside, Inside: e.inside, Near: e.near, Far: e.far, Enter: enter, ProcSys: procSys}.Set(mtu, routable)
	})
}

// ends are the two ends of a link, with netlink sockets in their namespaces.
type ends struct {
	outside, inside *netlink.Handle
	near, far       netlink.Link
}

// withEnds calls a function with the ends of the link.
func (l PodLink) withEnds(f func(ends) error) error {
	outside, err := l.Place.Handle()
	if err != nil {
		return err
	}
	defer outside.Close()
	inside, err := l.inside()
	if err != nil {
		return err
	}
	defer inside.Close()
	near, err := outside.LinkByName(l.Name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", l.Name, err)
	}
	far, err := inside.LinkByName(l.PodName)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", l.PodName, err)
	}
	return f(ends{outside, inside, near, far})
}

// inside returns a netlink socket in the namespace of the far end.
func (l PodLink) inside() (*netlink.Handle, error) {
	if l.Pod == "" {
		return netlink.NewHandle()
	}
	at, err := netns.GetFromPath(l.Pod)
	if err != nil {
		return nil, fmt.Errorf("open the pod's network namespace %s: %w", l.Pod, err)
	}
	defer at.Close()
	return netlink.NewHandleAt(at)
}

// Check returns every difference between the link and the kernel. The interface of the pod may have further addresses and routes.
func (l PodLink) Check() error {
	return l.withEnds(func(e ends) error {
		var errs []error
		for _, end := range []netlink.Link{e.near, e.far} {
			a := end.Attrs()
			if a.Flags&net.FlagUp == 0 {
				errs = append(errs, fmt.Errorf("interface %s is down", a.Name))
			}
			if a.MTU != l.MTU {
				errs = append(errs, fmt.Errorf("interface %s has MTU %d instead of %d", a.Name, a.MTU, l.MTU))
			}
		}
		if mac := e.far.Attrs().HardwareAddr; mac.String() != l.MAC.String() {
			errs = append(errs, fmt.Errorf("interface %s has MAC address %s instead of %s", l.PodName, mac, l.MAC))
		}
		return errors.Join(errors.Join(errs...), l.checkAddresses(e.inside, e.far), l.checkRoutes(e.inside, e.far))
	})
}

func (l PodLink) checkAddresses(inside *netlink.Handle, far netlink.Link) error {
	addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return inside.AddrList(far, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("list addresses of interface %s: %w", l.PodName, err)
	}
	exist := map[netip.Prefix]bool{}
	for i := range addresses {
		if p, ok := netaddr.FromIPNet(addresses[i].IPNet); ok {
			exist[p] = true
		}
	}
	var errs []error
	for _, a := range l.Addresses {
		if !exist[a] {
			errs = append(errs, fmt.Errorf("interface %s lacks address %s", l.PodName, a))
		}
	}
	return errors.Join(errs...)
}

func (l PodLink) checkRoutes(inside *netlink.Handle, far netlink.Link) error {
	routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return inside.RouteList(far, netlink.FAMILY_ALL) })
	if err != nil {
		return fmt.Errorf("list routes of interface %s: %w", l.PodName, err)
	}
	exist := map[Route]bool{}
	for i := range routes {
		if to, ok := netaddr.FromIPNet(routes[i].Dst); ok {
			via, _ := netip.AddrFromSlice(routes[i].Gw)
			exist[Route{to.Masked(), via.Unmap()}] = true
		}
	}
	var errs []error
	for _, r := range l.Routes {
		if !exist[Route{r.To.Masked(), r.Via}] {
			errs = append(errs, fmt.Errorf("interface %s lacks the route to %s", l.PodName, r.To))
		}
	}
	return errors.Join(errs...)
}

// PodAddresses returns the addresses of an interface of a pod, by the path of its network namespace.
func PodAddresses(pod, ifName string) (out []netip.Prefix, err error) {
	err = ns.WithNetNSPath(pod, func(ns.NetNS) error {
		far, err := netlink.LinkByName(ifName)
		if err != nil {
			return fmt.Errorf("interface %s of the pod: %w", ifName, err)
		}
		addresses, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(far, netlink.FAMILY_ALL) })
		for i := range addresses {
			if p, ok := netaddr.FromIPNet(addresses[i].IPNet); ok {
				out = append(out, p)
			}
		}
		return err
	})
	return out, err
}
