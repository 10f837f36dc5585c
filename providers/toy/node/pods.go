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

// linkPrefix is the name prefix of the node's ends of pod links.
const linkPrefix = "toy"

// gateway is the next hop of every pod. No interface has it: a permanent neighbour entry points to the node's end of the link.
var gateway = netip.MustParseAddr("169.254.1.1")

// pods attaches pods. Each has a link whose node's end has the route to the pod's address. That route is the record of the assigned address; the kernel
// removes it with the link, and the link with the pod's namespace.
type pods struct {
	block func() (netip.Prefix, bool)

	mu sync.Mutex
	// next is where the search for a free address continues, so that addresses are not reused immediately.
	next netip.Addr
	// taken are the pods' addresses by the name of the node's end of the link; nil until they are read from the kernel.
	taken map[string]netip.Addr
}

func newPods(block func() (netip.Prefix, bool)) *pods { return &pods{block: block} }

var _ cniserver.Handler = (*pods)(nil)

// Status implements cniserver.Handler.
func (p *pods) Status(context.Context) error {
	if _, ready := p.block(); !ready {
		return cniproto.Errorf(cniproto.CodeNotAvailable, "the agent is not ready; see its /readyz for the reason")
	}
	return nil
}

// Add implements cniserver.Handler.
func (p *pods) Add(_ context.Context, c cniserver.Call) (*current.Result, error) {
	block, ready := p.block()
	if !ready {
		return nil, cniproto.Errorf(cniproto.CodeTryAgain, "the agent is not ready")
	}
	addr, err := p.allocate(block, linkName(c))
	if err != nil {
		return nil, err
	}
	hostLink, podLink, err := attach(c, addr)
	if err != nil {
		return nil, err
	}
	return &current.Result{
		Interfaces: []*current.Interface{{Name: hostLink.Name, Mac: hostLink.HardwareAddr.String()}, {Name: c.IfName, Mac: podLink.HardwareAddr.String(), Sandbox: c.NetNS}},
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

// allocate allocates a free address of the block, except the first and the last, to a link.
func (p *pods) allocate(block netip.Prefix, link string) (netip.Addr, error) {
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

// linkName returns the name of the node's end of an attachment's link; the kernel allows 15 characters.
func linkName(c cniserver.Call) string {
	sum := sha256.Sum256([]byte(c.ContainerID + "/" + c.IfName))
	return linkPrefix + hex.EncodeToString(sum[:6])
}

// attach creates the link, and the routes at both ends.
func attach(c cniserver.Call, addr netip.Addr) (hostLink, podLink *netlink.LinkAttrs, err error) {
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
	hostLink, podLink = nearLink.Attrs(), farLink.Attrs()
	if err := connectPod(pod, podLink, hostLink, addr); err != nil {
		return nil, nil, fmt.Errorf("configure the pod's interface: %w", err)
	}
	return hostLink, podLink, connectNode(hostLink, podLink, addr)
}

// connectPod sets the pod's address, and the node as the default gateway.
func connectPod(pod *netlink.Handle, podLink, hostLink *netlink.LinkAttrs, addr netip.Addr) error {
	link := &netlink.Device{LinkAttrs: *podLink}
	own, via := netaddr.IPNet(netip.PrefixFrom(addr, addr.BitLen())), netaddr.IPNet(netip.PrefixFrom(gateway, gateway.BitLen()))
	return errors.Join(
		pod.LinkSetUp(link),
		pod.AddrAdd(link, &netlink.Addr{IPNet: own}),
		pod.NeighSet(&netlink.Neigh{LinkIndex: podLink.Index, State: netlink.NUD_PERMANENT, IP: via.IP, HardwareAddr: hostLink.HardwareAddr}),
		pod.RouteAdd(&netlink.Route{LinkIndex: podLink.Index, Scope: netlink.SCOPE_LINK, Dst: via}),
		pod.RouteAdd(&netlink.Route{LinkIndex: podLink.Index, Gw: via.IP, Src: own.IP}),
	)
}

// connectNode routes the pod's address to its link.
func connectNode(hostLink, podLink *netlink.LinkAttrs, addr netip.Addr) error {
	link, to := &netlink.Device{LinkAttrs: *hostLink}, netaddr.IPNet(netip.PrefixFrom(addr, addr.BitLen()))
	if err := errors.Join(
		netlink.LinkSetUp(link),
		netlink.NeighSet(&netlink.Neigh{LinkIndex: hostLink.Index, State: netlink.NUD_PERMANENT, IP: to.IP, HardwareAddr: podLink.HardwareAddr}),
		netlink.RouteAdd(&netlink.Route{LinkIndex: hostLink.Index, Scope: netlink.SCOPE_LINK, Dst: to}),
	); err != nil {
		return fmt.Errorf("configure the node's end of the pod's link: %w", err)
	}
	return nil
}

// podAddresses returns the addresses routed to pods, by the name of the node's end of the link.
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

// podLinks returns the names of the node's ends of pod links, by index.
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
	if err != nil && !errors.Is(err, unix.ENODEV) { // its namespace may be deleted at any time
		return fmt.Errorf("remove interface %s: %w", name, err)
	}
	return nil
}
