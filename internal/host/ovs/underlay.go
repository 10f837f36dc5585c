package ovs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	// namespaces is where network namespaces have names.
	namespaces = "/run/netns"
	table      = "cno-ovs-underlay"
	// noticesAddress is how long ovs-vswitchd may take to notice an address that the kernel has.
	noticesAddress = 2 * time.Second
	// early is before all other chains of an ingress hook.
	early = "-500"
)

// The addresses of the pair. They are link-local and leave no node.
var (
	tunnelAddress = netip.MustParsePrefix("169.254.100.1/30")
	nodeAddress   = netip.MustParsePrefix("169.254.100.2/30")
)

// UnderlayLink is the node's end of the pair.
const UnderlayLink = "ovs-underlay"

// TunnelAddress is the source of packets that leave Open vSwitch, until they get the node's address.
func TunnelAddress() netip.Addr { return tunnelAddress.Addr() }

// UnderlayNetwork has the addresses of the pair. Pods have no business there.
var UnderlayNetwork = tunnelAddress.Masked()

// nodeMAC is the hardware address of nodeEnd, known so that Open vSwitch need not ask for it.
var nodeMAC = []byte{0x0a, 0x58, 0xa9, 0xfe, 0x64, 0x02}

// Underlay is the way of tunnel packets between an Open vSwitch in a network namespace of its own and the node's network. It needs IPv4.
type Underlay struct {
	// Namespace is the name of the network namespace.
	Namespace string
	// Bridge is the bridge, of the userspace datapath, whose local port has the tunnel endpoint's address.
	Bridge string
	// Node is the node's address, to which other nodes send tunnel packets; Ports are their UDP ports.
	Node  netip.Addr
	Ports []uint16
	// MTU is that of the node's interface.
	MTU int
	// ProcSys is where the kernel's settings are.
	ProcSys string
}

// Path is the path of the network namespace.
func (u Underlay) Path() string { return filepath.Join(namespaces, u.Namespace) }

// Prepare creates what Open vSwitch needs before it starts: the namespace, the pair of interfaces, and the rules of both sides. It is
// called in the node's namespace, changes only what differs, and may be repeated.
func (u Underlay) Prepare(ctx context.Context) error {
	if !u.Node.Is4() {
		return fmt.Errorf("the node's address %s is not an IPv4 address, which tunnels of the userspace datapath need", u.Node)
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
	return sysctl.Set(u.ProcSys, "net/ipv4/ip_forward", "1")
}

// PrepareNamespace creates the network namespace, which is all that ovs-vswitchd needs to start. Prepare does it, too.
func (u Underlay) PrepareNamespace() error { return u.createNamespace() }

// Connect gives the bridge the tunnel endpoint's address, once Open vSwitch has created it with the port that UplinkPort names, and calls
// Route. It is repeated, and called in the node's namespace.
func (u Underlay) Connect(ctx context.Context, daemon Control) error {
	var mac net.HardwareAddr
	if err := u.enter(func() (err error) { mac, err = u.connectInside(); return err }); err != nil {
		return fmt.Errorf("connect bridge %s: %w", u.Bridge, err)
	}
	if err := setNeighbor(mac); err != nil {
		return fmt.Errorf("set the neighbor of %s: %w", nodeEnd, err)
	}
	return u.Route(ctx, daemon)
}

// Route tells ovs-vswitchd the route to all other nodes and its next hop: without them it drops tunnel packets. ovs-vswitchd forgets both when
// it restarts, and the next hop after 15 minutes. The bridge must have its address from an earlier Connect. Of u, only
// Bridge needs a value. An error of ovs-vswitchd is returned after two seconds of attempts.
func (u Underlay) Route(ctx context.Context, daemon Control) error {
	if err := addRoute(ctx, daemon, "0.0.0.0/0", u.Bridge, nodeAddress.Addr().String()); err != nil {
		return err
	}
	_, err := daemon.Call(ctx, "tnl/neigh/set", u.Bridge, nodeAddress.Addr().String(), macText())
	return err
}

// addRoute adds a route to those of ovs-vswitchd, which refuses it until it has noticed the address of the bridge.
func addRoute(ctx context.Context, daemon Control, route ...string) error {
	for until := time.Now().Add(noticesAddress); ; {
		_, err := daemon.Call(ctx, "ovs/route/add", route...)
		if err == nil || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		time.Sleep(looks)
	}
}

// UplinkPort is the port of the bridge that leads to the node.
func (Underlay) UplinkPort() Port { return Port{Name: tunnelEnd} }

// Remove removes everything that Prepare has created. No Open vSwitch may run in the namespace.
func (u Underlay) Remove(ctx context.Context) error {
	var errs []error
	if link, err := netlink.LinkByName(nodeEnd); err == nil {
		errs = append(errs, netlink.LinkDel(link))
	}
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err == nil {
		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		err = nft.Run(ctx, tx)
	}
	errs = append(errs, err)
	if err := netns.DeleteNamed(u.Namespace); !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// createNamespace creates the network namespace under its name, as ip netns add does.
func (u Underlay) createNamespace() error {
	if existing, err := netns.GetFromPath(u.Path()); err == nil {
		return existing.Close()
	}
	// A name without a namespace is what a crash, or a restart of the node, leaves.
	if err := os.Remove(u.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create network namespace %s: %w", u.Namespace, err)
	}
	done := make(chan error, 1)
	go func() {
		// NewNamed leaves the thread in the new namespace. Without an unlock it ends with this goroutine.
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
	return errors.Join(
		netlink.LinkSetMTU(link, u.MTU),
		netlink.LinkSetUp(link),
		netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(nodeAddress)}),
		DisableTxOffload(nodeEnd),
	)
}

// prepareInside keeps the namespace's kernel away from the packets that Open vSwitch forwards.
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
		Name: tunnelEnd, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(knftables.IngressHook), Priority: knftables.PtrTo(knftables.BaseChainPriority(early)),
		Device: knftables.PtrTo(tunnelEnd), Policy: knftables.PtrTo(knftables.DropPolicy),
	})
	return errors.Join(append(errs, nft.Run(ctx, tx))...)
}

// SwitchAddress is the address with which ovs-vswitchd itself sends packets from its namespace.
func (Underlay) SwitchAddress() netip.Addr { return tunnelAddress.Addr() }

// translate replaces the tunnel endpoint's address by the node's and back, packet by packet. Connection tracking would cost an entry for
// each flow between nodes, and lose those that it forgets.
func (u Underlay) translate(ctx context.Context) error {
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err != nil {
		return err
	}
	var ports []string
	for _, p := range u.Ports {
		ports = append(ports, strconv.Itoa(int(p)))
	}
	tunnels := "udp dport { " + strings.Join(ports, ", ") + " }"
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	for _, c := range []struct {
		chain    string
		hook     knftables.BaseChainHook
		priority knftables.BaseChainPriority
		rules    []string
	}{
		{"arriving", knftables.PreroutingHook, knftables.RawPriority, []string{
			knftables.Concat("ip daddr", u.Node, tunnels, "notrack ip daddr set", tunnelAddress.Addr()),
			knftables.Concat("iifname", nodeEnd, tunnels, "notrack"),
		}},
		{"leaving", knftables.PostroutingHook, knftables.SNATPriority, []string{
			knftables.Concat("ip saddr", tunnelAddress.Addr(), tunnels, "ip saddr set", u.Node),
		}},
	} {
		tx.Add(&knftables.Chain{Name: c.chain, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(c.hook), Priority: knftables.PtrTo(c.priority)})
		tx.Flush(&knftables.Chain{Name: c.chain})
		for _, r := range c.rules {
			tx.Add(&knftables.Rule{Chain: c.chain, Rule: r})
		}
	}
	return nft.Run(ctx, tx)
}

// setNeighbor has the node know the bridge, whose hardware address is another one after Open vSwitch has lost its database: the kernel would send
// tunnel packets to the former one for half a minute.
func setNeighbor(mac net.HardwareAddr) error {
	link, err := netlink.LinkByName(nodeEnd)
	if err != nil {
		return err
	}
	return netlink.NeighSet(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, Family: netlink.FAMILY_V4, State: netlink.NUD_PERMANENT, IP: tunnelAddress.Addr().AsSlice(), HardwareAddr: mac,
	})
}

// connectInside is called in the network namespace. It returns the hardware address of the bridge.
func (u Underlay) connectInside() (net.HardwareAddr, error) {
	link, err := netlink.LinkByName(u.Bridge)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(netlink.LinkSetMTU(link, u.MTU), netlink.LinkSetUp(link)); err != nil {
		return nil, err
	}
	// An address that is set again is an event, at which ovs-vswitchd forgets for a moment that packets to it are tunnel packets.
	address := &netlink.Addr{IPNet: netaddr.IPNet(tunnelAddress)}
	existing, err := netlinkdump.All(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_V4) })
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(existing, func(a netlink.Addr) bool { return a.Equal(*address) }) {
		if err := netlink.AddrReplace(link, address); err != nil {
			return nil, err
		}
	}
	return link.Attrs().HardwareAddr, netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: nodeAddress.Addr().AsSlice(), Table: unix.RT_TABLE_MAIN})
}

func macText() string {
	var parts []string
	for _, b := range nodeMAC {
		parts = append(parts, fmt.Sprintf("%02x", b))
	}
	return strings.Join(parts, ":")
}
