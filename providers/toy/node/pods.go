package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniproto"
	"github.com/cluster-network-operator/cno/internal/cniserver"
	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

// linkPrefix begins the names of the nodes' ends of pods' links.
const linkPrefix = "toy"

// gateway is the next hop of every pod. No interface has it: a permanent neighbour entry leads to the node's end of the link.
var gateway = netip.MustParseAddr("169.254.1.1")

// pods attaches pods: a link each, of which the node's end has the route to the pod's address. That route is the record of who has an
// address; it goes with the link, and the link with the pod's namespace.
type pods struct {
	block func() (netip.Prefix, bool)

	mu sync.Mutex
	// next is where the search for a free address goes on, so that addresses are not used again at once.
	next netip.Addr
	// taken are the pods' addresses by the names of the nodes' ends of their links; nil before they are read from the kernel.
	taken map[string]netip.Addr
}

func newPods(block func() (netip.Prefix, bool)) *pods { return &pods{block: block} }

var _ cniserver.Handler = (*pods)(nil)

// Status implements cniserver.Handler.
func (p *pods) Status(context.Context) error {
	if _, ready := p.block(); !ready {
		return cniproto.Errorf(cniproto.CodeNotAvailable, "the agent is not ready; its /readyz says what it waits for")
	}
	return nil
}

// Add implements cniserver.Handler.
func (p *pods) Add(_ context.Context, c cniserver.Call) (*current.Result, error) {
	block, ready := p.block()
	if !ready {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent is not ready")
	}
	addr, err := p.take(block, linkName(c))
	if err != nil {
		return nil, err
	}
	near, far, err := attach(c, addr)
	if err != nil {
		return nil, err
	}
	return &current.Result{
		Interfaces: []*current.Interface{{Name: near.Name, Mac: near.HardwareAddr.String()}, {Name: c.IfName, Mac: far.HardwareAddr.String(), Sandbox: c.NetNS}},
		IPs:        []*current.IPConfig{{Interface: new(1), Address: *netaddr.IPNet(netip.PrefixFrom(addr, addr.BitLen())), Gateway: gateway.AsSlice()}},
	}, nil
}

// Del implements cniserver.Handler.
func (p *pods) Del(_ context.Context, c cniserver.Call) error {
	if err := removeLink(linkName(c)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, linkName(c))
	return nil
}

// Check implements cniserver.Handler.
func (p *pods) Check(_ context.Context, c cniserver.Call, added *current.Result) error {
	routes, err := podAddresses()
	if err != nil {
		return err
	}
	for _, ip := range added.IPs {
		if addr, _ := netip.AddrFromSlice(ip.Address.IP); routes[linkName(c)] != addr.Unmap() {
			return fmt.Errorf("the route to %s is missing", addr.Unmap())
		}
	}
	return nil
}

// take gives a link a free address of the block: neither the first nor the last.
func (p *pods) take(block netip.Prefix, link string) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		known, err := podAddresses()
		if err != nil {
			return netip.Addr{}, err
		}
		p.taken = known
	}
	used := map[netip.Addr]bool{}
	for _, addr := range p.taken {
		used[addr] = true
	}
	first := block.Addr().Next()
	if !block.Contains(p.next) || p.next == block.Addr() {
		p.next = first
	}
	for start := p.next; ; {
		addr := p.next
		p.next = addr.Next()
		if !block.Contains(p.next.Next()) { // p.next is the last address
			p.next = first
		}
		if !used[addr] {
			p.taken[link] = addr
			return addr, nil
		}
		if p.next == start {
			return netip.Addr{}, cniproto.Errorf(cniproto.CodeTryAgain, "all addresses of this node's block %s are in use", block)
		}
	}
}

// linkName names the node's end of an attachment's link; the kernel admits 15 characters.
func linkName(c cniserver.Call) string {
	sum := sha256.Sum256([]byte(c.ContainerID + "/" + c.IfName))
	return linkPrefix + hex.EncodeToString(sum[:6])
}

// attach makes the link, and the routes at both ends.
func attach(c cniserver.Call, addr netip.Addr) (near, far *netlink.LinkAttrs, err error) {
	inside, err := netns.GetFromPath(c.NetNS)
	if err != nil {
		return nil, nil, fmt.Errorf("open the pod's network namespace: %w", err)
	}
	defer inside.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = linkName(c)
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: c.IfName, PeerNamespace: netlink.NsFd(inside)}); err != nil {
		return nil, nil, fmt.Errorf("add the pod's link: %w", err)
	}
	pod, err := netlink.NewHandleAt(inside)
	if err != nil {
		return nil, nil, fmt.Errorf("enter the pod's network namespace: %w", err)
	}
	defer pod.Close()
	nearLink, err := netlink.LinkByName(attributes.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the pod's link: %w", err)
	}
	farLink, err := pod.LinkByName(c.IfName)
	if err != nil {
		return nil, nil, fmt.Errorf("read the pod's interface: %w", err)
	}
	near, far = nearLink.Attrs(), farLink.Attrs()
	if err := connectPod(pod, far, near, addr); err != nil {
		return nil, nil, fmt.Errorf("configure the pod's interface: %w", err)
	}
	return near, far, connectNode(near, far, addr)
}

// connectPod gives the pod its address, and the node as the next hop to everything.
func connectPod(pod *netlink.Handle, far, near *netlink.LinkAttrs, addr netip.Addr) error {
	link := &netlink.Device{LinkAttrs: *far}
	own, via := netaddr.IPNet(netip.PrefixFrom(addr, addr.BitLen())), netaddr.IPNet(netip.PrefixFrom(gateway, gateway.BitLen()))
	return errors.Join(
		pod.LinkSetUp(link),
		pod.AddrAdd(link, &netlink.Addr{IPNet: own}),
		pod.NeighSet(&netlink.Neigh{LinkIndex: far.Index, State: netlink.NUD_PERMANENT, IP: via.IP, HardwareAddr: near.HardwareAddr}),
		pod.RouteAdd(&netlink.Route{LinkIndex: far.Index, Scope: netlink.SCOPE_LINK, Dst: via}),
		pod.RouteAdd(&netlink.Route{LinkIndex: far.Index, Gw: via.IP, Src: own.IP}),
	)
}

// connectNode routes the pod's address to its link.
func connectNode(near, far *netlink.LinkAttrs, addr netip.Addr) error {
	link, to := &netlink.Device{LinkAttrs: *near}, netaddr.IPNet(netip.PrefixFrom(addr, addr.BitLen()))
	if err := errors.Join(
		netlink.LinkSetUp(link),
		netlink.NeighSet(&netlink.Neigh{LinkIndex: near.Index, State: netlink.NUD_PERMANENT, IP: to.IP, HardwareAddr: far.HardwareAddr}),
		netlink.RouteAdd(&netlink.Route{LinkIndex: near.Index, Scope: netlink.SCOPE_LINK, Dst: to}),
	); err != nil {
		return fmt.Errorf("configure the node's end of the pod's link: %w", err)
	}
	return nil
}

// podAddresses returns the addresses that lead to pods, by the names of the nodes' ends of their links.
func podAddresses() (map[string]netip.Addr, error) {
	links, err := podLinks()
	if err != nil {
		return nil, err
	}
	routes, err := netlinkdump.All(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_V4) })
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	out := map[string]netip.Addr{}
	for _, r := range routes {
		if to, ok := netaddr.FromIPNet(r.Dst); ok && to.IsSingleIP() && links[r.LinkIndex] != "" {
			out[links[r.LinkIndex]] = to.Addr()
		}
	}
	return out, nil
}

// podLinks returns the names of the nodes' ends of pods' links, by index.
func podLinks() (map[int]string, error) {
	all, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	out := map[int]string{}
	for _, l := range all {
		if a := l.Attrs(); l.Type() == "veth" && strings.HasPrefix(a.Name, linkPrefix) {
			out[a.Index] = a.Name
		}
	}
	return out, nil
}

func removeLinks() error {
	links, err := podLinks()
	errs := []error{err}
	for _, name := range links {
		errs = append(errs, removeLink(name))
	}
	return errors.Join(errs...)
}

func removeLink(name string) error {
	link, err := netlink.LinkByName(name)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil && !errors.Is(err, unix.ENODEV) { // it may go with its namespace at any moment
		return fmt.Errorf("remove interface %s: %w", name, err)
	}
	return nil
}
