package ovs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/netaddr"
)

const (
	// nodeEnd and tunnelEnd are the ends of the pair of interfaces between the node and Open vSwitch.
	nodeEnd   = UnderlayLink
	tunnelEnd = "underlay"
	// namespaces is the directory of named network namespaces.
	namespaces = "/run/netns"
	table      = UnderlayTable
	// addressTimeout is how long ovs-vswitchd may take to detect a new address of the kernel.
	addressTimeout = 2 * time.Second
	// pollInterval is the pause between two attempts in that time.
	pollInterval = 5 * time.Millisecond
	// ingressPriority is lower than that of all other chains of an ingress hook.
	ingressPriority = "-500"
)

// ends4 are the addresses of the pair in IPv4, which it always has. They are link-local and leave no node.
var ends4 = addresses{tunnel: netip.MustParsePrefix("169.254.100.1/30"), node: netip.MustParsePrefix("169.254.100.2/30")}

// addresses are those of the pair in one IP family: the tunnel endpoint's and the node's.
type addresses struct{ tunnel, node netip.Prefix }

// UnderlayTable is the nftables table that translates addresses.
const UnderlayTable = "cno-ovs-underlay"

// UnderlayLink is the node's end of the pair.
const UnderlayLink = "ovs-underlay"

// UnderlayNetwork is the IPv4 network of the pair. Pods must not access it.
var UnderlayNetwork = ends4.tunnel.Masked()

// nodeMAC is the MAC address of nodeEnd. It is constant, so that Open vSwitch has a static neighbor entry.
var nodeMAC = []byte{0x0a, 0x58, 0xa9, 0xfe, 0x64, 0x02}

// Underlay connects an Open vSwitch in a separate network namespace to the node's network for tunnel packets.
type Underlay struct {
	// Namespace is the name of the network namespace.
	Namespace string
	// Bridge is the bridge, of the userspace datapath, whose local port has the tunnel endpoint's address.
	Bridge string
	// Node is the node's address, to which other nodes send tunnel packets; Ports are their UDP ports.
	Node  netip.Addr
	Ports []uint16
	// Pair6 is a network of two addresses or more that are used nowhere else, for the pair if Node is an IPv6 address. It must not be link-local: the kernel
	// does not forward packets from link-local IPv6 addresses.
	Pair6 netip.Prefix
	// MTU is the MTU of the node's interface.
	MTU int
	// ProcSys is the directory of sysctls.
	ProcSys string
}

// Path returns the path of the network namespace.
func (u Underlay) Path() string { return filepath.Join(namespaces, u.Namespace) }

// Prepare creates the namespace, the veth pair and the rules of both sides, before Open vSwitch starts. It is called in the node's namespace, is
// idempotent, and changes only differences.
func (u Underlay) Prepare(ctx context.Context) error {
	if !u.Node.IsValid() || u.Node.Is6() && !u.Pair6.IsValid() {
		return fmt.Errorf("the node's address %s is not usable for tunnels of the userspace datapath", u.Node)
	}
	if err := u.createNamespace(); err != nil {
		return err
	}
	if err := u.createPair(); err != nil {
		return fmt.Errorf("create interfaces of the underlay: %w", err)
	}
	if err := u.enter(func() error { return u.prepareInside(ctx) }); err != nil {
		return fmt.Errorf("prepare network namespace %s: %w", u.Namespace, err)
	}
	if err := u.translate(ctx); err != nil {
		return fmt.Errorf("translate addresses of the underlay: %w", err)
	}
	if u.Node.Is6() {
		return sysctl.ForwardIPv6(u.ProcSys)
	}
	return sysctl.Set(u.ProcSys, "net/ipv4/ip_forward", "1")
}

// tunnels returns the addresses of the pair in the family of the node's address, which tunnel packets have.
func (u Underlay) tunnels() addresses {
	if !u.Node.Is6() {
		return ends4
	}
	first := u.Pair6.Masked().Addr().Next()
	return addresses{tunnel: netip.PrefixFrom(first, u.Pair6.Bits()), node: netip.PrefixFrom(first.Next(), u.Pair6.Bits())}
}

// ends returns the addresses of the pair in all families.
func (u Underlay) ends() []addresses {
	if u.Node.Is6() {
		return []addresses{ends4, u.tunnels()}
	}
	return []addresses{ends4}
}

// TunnelAddress returns the source address of tunnel packets that leave Open vSwitch, before it is translated to the node's address.
func (u Underlay) TunnelAddress() netip.Addr { return u.tunnels().tunnel.Addr() }

// enableIPv6 enables IPv6 on an interface of the pair if tunnel packets need it.
func (u Underlay) enableIPv6(link string) error {
	if !u.Node.Is6() {
		return nil
	}
	return sysctl.Set(u.ProcSys, "net/ipv6/conf/"+link+"/disable_ipv6", "0")
}

// PrepareNamespace creates only the network namespace, which ovs-vswitchd needs to start. Prepare includes it.
func (u Underlay) PrepareNamespace() error { return u.createNamespace() }

// Connect sets the tunnel endpoint's address of the bridge, after Open vSwitch has created the bridge with the port UplinkPort, and calls Route. It is
// called in the node's namespace, and is idempotent.
func (u Underlay) Connect(ctx context.Context, daemon Control) error {
	var mac net.HardwareAddr
	if err := u.enter(func() (err error) { mac, err = u.connectInside(); return err }); err != nil {
		return fmt.Errorf("connect bridge %s: %w", u.Bridge, err)
	}
	if err := setNeighbor(u.TunnelAddress(), mac); err != nil {
		return fmt.Errorf("set the neighbor of %s: %w", nodeEnd, err)
	}
	return u.Route(ctx, daemon)
}

// Route adds the route to all other nodes and the neighbor entry of its next hop to ovs-vswitchd, which drops tunnel packets without them. ovs-vswitchd
// loses both when it restarts, and the neighbor entry after 15 minutes. The bridge must have its address from an earlier Connect. Route retries errors of
// ovs-vswitchd for two seconds.
func (u Underlay) Route(ctx context.Context, daemon Control) error {
	next, everything := u.tunnels().node.Addr(), "0.0.0.0/0"
	if next.Is6() {
		everything = "::/0"
	}
	if err := addRoute(ctx, daemon, everything, u.Bridge, next.String()); err != nil {
		return err
	}
	_, err := daemon.Call(ctx, "tnl/neigh/set", u.Bridge, next.String(), macText())
	return err
}

// addRoute adds a route to ovs-vswitchd, which refuses it until it has detected the address of the bridge.
func addRoute(ctx context.Context, daemon Control, route ...string) error {
	for until := time.Now().Add(addressTimeout); ; {
		_, err := daemon.Call(ctx, "ovs/route/add", route...)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		time.Sleep(pollInterval)
	}
}

// UplinkPort returns the port of the bridge that leads to the node.
func (Underlay) UplinkPort() Port { return Port{Name: tunnelEnd} }

// Remove removes all objects of Prepare. No Open vSwitch may run in the namespace.
func (u Underlay) Remove(ctx context.Context) error {
	errs := []error{u.Disconnect(ctx)}
	if err := netns.DeleteNamed(u.Namespace); !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Disconnect removes the link of the node to the namespace, and its rules. The namespace and an Open vSwitch in it stay.
func (u Underlay) Disconnect(ctx context.Context) error {
	var errs []error
	if link, err := netlink.LinkByName(nodeEnd); err == nil {
		errs = append(errs, netlink.LinkDel(link))
	}
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.IPv6Family} {
		nft, err := knftables.New(family, table)
		if err == nil {
			tx := nft.NewTransaction()
			tx.Add(&knftables.Table{})
			tx.Delete(&knftables.Table{})
			err = nft.Run(ctx, tx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// createNamespace creates the named network namespace, as ip netns add does.
func (u Underlay) createNamespace() error {
	if existing, err := netns.GetFromPath(u.Path()); err == nil {
		return existing.Close()
	}
	// A crash or a restart of the node leaves a name without a namespace.
	if err := os.Remove(u.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create network namespace %s: %w", u.Namespace, err)
	}
	done := make(chan error, 1)
	go func() {
		// NewNamed leaves the thread in the new namespace. The thread is not unlocked, and so ends with this goroutine.
		runtime.LockOSThread()
		created, err := netns.NewNamed(u.Namespace)
		if err == nil {
			err = created.Close()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("create network namespace %s: %w", u.Namespace, err)
	}
	return nil
}

// enter runs a function in the network namespace.
func (u Underlay) enter(f func() error) error {
	return ns.WithNetNSPath(u.Path(), func(ns.NetNS) error { return f() })
}

func (u Underlay) createPair() error {
	link, err := netlink.LinkByName(nodeEnd)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		inside, err := netns.GetFromPath(u.Path())
		if err != nil {
			return err
		}
		defer inside.Close()
		attributes := netlink.NewLinkAttrs()
		attributes.Name, attributes.HardwareAddr, attributes.MTU = nodeEnd, nodeMAC, u.MTU
		pair := &netlink.Veth{LinkAttrs: attributes, PeerName: tunnelEnd, PeerNamespace: netlink.NsFd(inside), PeerMTU: uint32(u.MTU)}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		link, err = netlink.LinkByName(nodeEnd)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	errs := []error{netlink.LinkSetMTU(link, u.MTU), netlink.LinkSetUp(link), u.enableIPv6(nodeEnd)}
	for _, end := range u.ends() {
		address := kernelAddress(end.node)
		if end.node.Addr().Is6() {
			// Deprecated at once: the kernel prefers others as the source of the node's own packets.
			address.ValidLft = math.MaxInt32
		}
		errs = append(errs, netlink.AddrReplace(link, address))
	}
	return errors.Join(append(errs, DisableTxOffload(nodeEnd))...)
}

// kernelAddress returns an address of the pair in the form of netlink. The kernel does not check whether another host has it.
func kernelAddress(p netip.Prefix) *netlink.Addr {
	flags := 0
	if p.Addr().Is6() {
		flags = unix.IFA_F_NODAD
	}
	return &netlink.Addr{IPNet: netaddr.IPNet(p), Flags: flags}
}

// prepareInside prevents the namespace's network stack from processing packets that Open vSwitch forwards.
func (u Underlay) prepareInside(ctx context.Context) error {
	var errs []error
	for name, value := range map[string]string{
		"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1", "net/ipv4/ip_forward": "0",
	} {
		errs = append(errs, sysctl.Set(u.ProcSys, name, value))
	}
	for _, name := range []string{"lo", tunnelEnd} {
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		errs = append(errs, err)
	}
	errs = append(errs, DisableTxOffload(tunnelEnd))
	nft, err := knftables.New(knftables.NetDevFamily, table)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	// Packets reach Open vSwitch before this hook.
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Add(&knftables.Chain{
		Name: tunnelEnd, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(knftables.IngressHook), Priority: knftables.PtrTo(knftables.BaseChainPriority(ingressPriority)),
		Device: knftables.PtrTo(tunnelEnd), Policy: knftables.PtrTo(knftables.DropPolicy),
	})
	return errors.Join(append(errs, nft.Run(ctx, tx))...)
}

// SwitchAddress returns the source address of IPv4 packets that ovs-vswitchd itself sends from its namespace.
func (Underlay) SwitchAddress() netip.Addr { return ends4.tunnel.Addr() }

// UnderlayChain is a chain of filter rules in UnderlayTable.
type UnderlayChain struct {
	Name     string
	Hook     knftables.BaseChainHook
	Priority knftables.BaseChainPriority
	Rules    []string
}

// Chains returns the rules of Prepare on the node, which translate between the tunnel endpoint's address and the node's for each packet. Connection
// tracking would need an entry for each flow between nodes, and break flows whose entry expires.
func (u Underlay) Chains() []UnderlayChain {
	var ports []string
	for _, p := range u.Ports {
		ports = append(ports, strconv.Itoa(int(p)))
	}
	tunnels := "udp dport { " + strings.Join(ports, ", ") + " }"
	ip, endpoint := u.family(), u.TunnelAddress()
	return []UnderlayChain{
		{"arriving", knftables.PreroutingHook, knftables.RawPriority, []string{
			knftables.Concat(ip, "daddr", u.Node, tunnels, "notrack", ip, "daddr set", endpoint),
			knftables.Concat("iifname", nodeEnd, tunnels, "notrack"),
		}},
		{"leaving", knftables.PostroutingHook, knftables.SNATPriority, []string{
			knftables.Concat(ip, "saddr", endpoint, tunnels, ip, "saddr set", u.Node),
		}},
	}
}

// family returns the nftables family of tunnel packets, which is also its name in rules.
func (u Underlay) family() knftables.Family {
	if u.Node.Is6() {
		return knftables.IPv6Family
	}
	return knftables.IPv4Family
}

// translate writes the rules of the node.
func (u Underlay) translate(ctx context.Context) error {
	nft, err := knftables.New(u.family(), table)
	if err != nil {
		return err
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	for _, c := range u.Chains() {
		tx.Add(&knftables.Chain{Name: c.Name, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(c.Hook), Priority: knftables.PtrTo(c.Priority)})
		tx.Flush(&knftables.Chain{Name: c.Name})
		for _, r := range c.Rules {
			tx.Add(&knftables.Rule{Chain: c.Name, Rule: r})
		}
	}
	return nft.Run(ctx, tx)
}

// setNeighbor adds a static neighbor entry for the bridge, which has the tunnel endpoint's address. Its MAC address changes when Open vSwitch loses its
// database, and the kernel would otherwise use the former address for half a minute.
func setNeighbor(endpoint netip.Addr, mac net.HardwareAddr) error {
	link, err := netlink.LinkByName(nodeEnd)
	if err != nil {
		return err
	}
	family := netlink.FAMILY_V4
	if endpoint.Is6() {
		family = netlink.FAMILY_V6
	}
	return netlink.NeighSet(&netlink.Neigh{LinkIndex: link.Attrs().Index, Family: family, State: netlink.NUD_PERMANENT, IP: endpoint.AsSlice(), HardwareAddr: mac})
}

// connectInside configures the bridge, and returns its MAC address. It is called in the network namespace.
func (u Underlay) connectInside() (net.HardwareAddr, error) {
	link, err := netlink.LinkByName(u.Bridge)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(netlink.LinkSetMTU(link, u.MTU), netlink.LinkSetUp(link), u.enableIPv6(u.Bridge)); err != nil {
		return nil, err
	}
	existing, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, err
	}
	for _, end := range u.ends() {
		// Setting an address again would be an event, after which ovs-vswitchd briefly does not recognize tunnel packets.
		address := kernelAddress(end.tunnel)
		if !slices.ContainsFunc(existing, func(a netlink.Addr) bool { return a.Equal(*address) }) {
			if err := netlink.AddrReplace(link, address); err != nil {
				return nil, err
			}
		}
	}
	// The records of flows that ovs-vswitchd exports need an IPv4 route. It does not use the kernel's routes for tunnels.
	return link.Attrs().HardwareAddr, netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: ends4.node.Addr().AsSlice(), Table: unix.RT_TABLE_MAIN})
}

func macText() string {
	var parts []string
	for _, b := range nodeMAC {
		parts = append(parts, fmt.Sprintf("%02x", b))
	}
	return strings.Join(parts, ":")
}
