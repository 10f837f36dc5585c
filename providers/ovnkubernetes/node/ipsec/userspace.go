package ipsec

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/internal/host/sysctl"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

const (
	// routeTable has a route to each peer through charon's interface. rulePriority is the priority of the rule that uses it for tunnel packets.
	routeTable, rulePriority = 6081, 6081
	// unusedTable has the routes that charon adds. unusedPriority is the priority of its rule: after the rules of the kernel, of which the last is 32767.
	unusedTable, unusedPriority = 6082, 40000
	// minMTU and minMTU6 are the minimum MTUs of IPv4 and IPv6.
	minMTU, minMTU6 = 576, 1280
)

// linkAddress is an IPv4 address of the interface that no packet has. It is link-local.
var linkAddress = netip.MustParsePrefix("169.254.100.5/32")

// removedAddress is the address of dropCachedRoutes. It is link-local.
var removedAddress = netip.MustParsePrefix("fe80::6081/128")

// userspace is charon's own ESP: charon reads packets from an interface that it creates, and writes decrypted ones to it. All fields except pid are required.
type userspace struct {
	// address is that of the node, port that of Geneve.
	address netip.Addr
	port    uint16
	// procSys is the directory of kernel parameters.
	procSys string
	// pid is charon's process ID; 0 before it has started.
	pid atomic.Int64
}

func (*userspace) Name() string      { return "userspace" }
func (u *userspace) Overhead() int   { return agentconfig.UserspaceESPOverhead(u.address.Is6()) }
func (*userspace) MaxPacket() int    { return agentconfig.UserspaceESPPacket }
func (*userspace) Transport() bool   { return false }
func (*userspace) plugins() []string { return []string{"kernel-libipsec"} }
func (u *userspace) started(pid int) { u.pid.Store(int64(pid)) }

func (*userspace) conditions() conditions {
	return conditions{arrivesClear: `iifname != "ipsec*"`, leavesClear: `oifname != "ipsec*"`}
}

// direct implements ESP: a rule directs packets to the port to a table with a route to each peer. Other packets use the routes of the node.
func (u *userspace) direct(_ context.Context, to []netip.Addr) error {
	link, err := u.link()
	if err != nil {
		return err
	}
	mtu, err := ovs.MTUOf(u.address)
	if err != nil {
		return err
	}
	least := minMTU
	if u.address.Is6() {
		least = minMTU6
	}
	if want := min(u.MaxPacket(), max(least, mtu-u.Overhead())); link.Attrs().MTU != want {
		if err := netlink.LinkSetMTU(link, want); err != nil {
			return fmt.Errorf("set the MTU of %s: %w", link.Attrs().Name, err)
		}
	}
	if err := u.admit(link); err != nil {
		return err
	}
	routed, err := u.route(link, to)
	if err != nil {
		return err
	}
	ruled, err := u.rule()
	if err != nil {
		return err
	}
	if u.address.Is6() && (routed || ruled) {
		return dropCachedRoutes(link)
	}
	return nil
}

// dropCachedRoutes has the kernel look up IPv6 routes again. Those that sockets and tunnels have cached are not affected by changes of rules and of other tables,
// in contrast to IPv4, but become invalid when an address is removed.
func dropCachedRoutes(link netlink.Link) error {
	address := &netlink.Addr{IPNet: netaddr.IPNet(removedAddress), Flags: unix.IFA_F_NODAD}
	if err := errors.Join(netlink.AddrReplace(link, address), netlink.AddrDel(link, address)); err != nil {
		return fmt.Errorf("drop cached routes: %w", err)
	}
	return nil
}

// admit has the kernel accept decrypted packets, which arrive on the interface although their senders are reached through another one. For IPv4 it drops them
// on an interface without an address.
func (u *userspace) admit(link netlink.Link) error {
	if u.address.Is6() {
		return sysctl.Set(u.procSys, "net/ipv6/conf/"+link.Attrs().Name+"/disable_ipv6", "0")
	}
	if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(linkAddress), Scope: unix.RT_SCOPE_LINK}); err != nil {
		return fmt.Errorf("set the address of %s: %w", link.Attrs().Name, err)
	}
	return sysctl.Set(u.procSys, "net/ipv4/conf/"+link.Attrs().Name+"/rp_filter", "2")
}

// family returns the IP family of tunnels in the notation of netlink.
func (u *userspace) family() int {
	if u.address.Is6() {
		return netlink.FAMILY_V6
	}
	return netlink.FAMILY_V4
}

// link returns the interface of charon, whose name is in the kernel's information on charon's open files.
func (u *userspace) link() (netlink.Link, error) {
	pid := u.pid.Load()
	if pid == 0 {
		return nil, errors.New("charon does not run")
	}
	files, err := filepath.Glob(filepath.Join("/proc", strconv.FormatInt(pid, 10), "fdinfo", "*"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it was closed in the meantime
		}
		for line := range strings.Lines(string(text)) {
			if name, found := strings.CutPrefix(line, "iff:"); found {
				return netlink.LinkByName(strings.TrimSpace(name))
			}
		}
	}
	return nil, errors.New("charon has no interface for packets to encrypt yet")
}

// route reconciles the routes in the table with the given peers. It reports whether it changed any.
func (u *userspace) route(link netlink.Link, to []netip.Addr) (changed bool, err error) {
	existing, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(u.family(), &netlink.Route{Table: routeTable}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return false, fmt.Errorf("list routes of encrypted packets: %w", err)
	}
	wanted := map[netip.Addr]bool{}
	for _, a := range to {
		wanted[a] = true
	}
	var errs []error
	for _, r := range existing {
		at, ok := netip.Addr{}, false
		if r.Dst != nil {
			at, ok = netip.AddrFromSlice(r.Dst.IP)
			at = at.Unmap()
		}
		if ok && wanted[at] && r.LinkIndex == link.Attrs().Index && r.Src.Equal(u.address.AsSlice()) {
			delete(wanted, at)
			continue
		}
		if !ok || !wanted[at] {
			changed = true
			errs = append(errs, netlink.RouteDel(&r))
		}
	}
	for at := range wanted {
		changed = true
		errs = append(errs, netlink.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(netip.PrefixFrom(at, at.BitLen())), Src: u.address.AsSlice(), Table: routeTable, Scope: netlink.SCOPE_LINK,
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return changed, fmt.Errorf("write routes of encrypted packets: %w", err)
	}
	return changed, nil
}

// rule adds the rule that directs packets to the port to the table. It reports whether it changed any.
func (u *userspace) rule() (changed bool, err error) {
	existing, err := rules(u.family(), routeTable)
	if err != nil {
		return false, err
	}
	want := u.desiredRule()
	present := false
	for _, r := range existing {
		if r.Dport != nil && *r.Dport == *want.Dport && r.IPProto == want.IPProto {
			present = true
			continue
		}
		changed = true
		if err := netlink.RuleDel(&r); err != nil {
			return changed, fmt.Errorf("remove the routing rule of another port: %w", err)
		}
	}
	if present {
		return changed, nil
	}
	if err := netlink.RuleAdd(want); err != nil {
		return true, fmt.Errorf("add the routing rule of encrypted packets: %w", err)
	}
	return true, nil
}

func (u *userspace) desiredRule() *netlink.Rule {
	r := netlink.NewRule()
	r.Priority, r.Table, r.IPProto, r.Dport, r.Family = rulePriority, routeTable, unix.IPPROTO_UDP, netlink.NewRulePortRange(u.port, u.port), u.family()
	return r
}

// rules returns the rules of an IP family that use the given tables.
func rules(family int, tables ...int) ([]netlink.Rule, error) {
	all, err := netlinkdump.All(func() ([]netlink.Rule, error) { return netlink.RuleList(family) })
	if err != nil {
		return nil, fmt.Errorf("list routing rules: %w", err)
	}
	var out []netlink.Rule
	for _, r := range all {
		if slices.Contains(tables, r.Table) {
			out = append(out, r)
		}
	}
	return out, nil
}

// remove implements ESP. The kernel removes the routes with charon's interface.
func (*userspace) remove() error {
	var errs []error
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		existing, err := rules(family, routeTable, unusedTable)
		errs = append(errs, err)
		for _, r := range existing {
			errs = append(errs, netlink.RuleDel(&r))
		}
	}
	return errors.Join(errs...)
}
