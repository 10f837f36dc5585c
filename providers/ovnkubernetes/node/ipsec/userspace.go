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
	// minMTU is the minimum MTU of IPv4.
	minMTU = 576
)

// linkAddress is an address of the interface that no packet has. It is link-local.
var linkAddress = netip.MustParsePrefix("169.254.100.5/32")

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
func (*userspace) Overhead() int     { return agentconfig.UserspaceESPOverhead }
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
	if want := min(agentconfig.UserspaceESPPacket, max(minMTU, mtu-agentconfig.UserspaceESPOverhead)); link.Attrs().MTU != want {
		if err := netlink.LinkSetMTU(link, want); err != nil {
			return fmt.Errorf("set the MTU of %s: %w", link.Attrs().Name, err)
		}
	}
	// Packets arrive here although their senders are reached through another interface. The kernel always drops them on an interface without an address.
	if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: netaddr.IPNet(linkAddress), Scope: unix.RT_SCOPE_LINK}); err != nil {
		return fmt.Errorf("set the address of %s: %w", link.Attrs().Name, err)
	}
	if err := sysctl.Set(u.procSys, "net/ipv4/conf/"+link.Attrs().Name+"/rp_filter", "2"); err != nil {
		return err
	}
	if err := u.route(link, to); err != nil {
		return err
	}
	return u.rule()
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

// route reconciles the routes in the table with the given peers.
func (u *userspace) route(link netlink.Link, to []netip.Addr) error {
	existing, err := netlinkdump.All(func() ([]netlink.Route, error) {
		return netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: routeTable}, netlink.RT_FILTER_TABLE)
	})
	if err != nil {
		return fmt.Errorf("list routes of encrypted packets: %w", err)
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
			errs = append(errs, netlink.RouteDel(&r))
		}
	}
	for at := range wanted {
		errs = append(errs, netlink.RouteReplace(&netlink.Route{
			LinkIndex: link.Attrs().Index, Dst: netaddr.IPNet(netip.PrefixFrom(at, at.BitLen())), Src: u.address.AsSlice(), Table: routeTable, Scope: netlink.SCOPE_LINK,
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write routes of encrypted packets: %w", err)
	}
	return nil
}

// rule adds the rule that directs packets to the port to the table.
func (u *userspace) rule() error {
	existing, err := u.rules(routeTable)
	if err != nil {
		return err
	}
	want := u.desiredRule()
	present := false
	for _, r := range existing {
		if r.Dport != nil && *r.Dport == *want.Dport && r.IPProto == want.IPProto {
			present = true
			continue
		}
		if err := netlink.RuleDel(&r); err != nil {
			return fmt.Errorf("remove the routing rule of another port: %w", err)
		}
	}
	if present {
		return nil
	}
	if err := netlink.RuleAdd(want); err != nil {
		return fmt.Errorf("add the routing rule of encrypted packets: %w", err)
	}
	return nil
}

func (u *userspace) desiredRule() *netlink.Rule {
	r := netlink.NewRule()
	r.Priority, r.Table, r.IPProto, r.Dport, r.Family = rulePriority, routeTable, unix.IPPROTO_UDP, netlink.NewRulePortRange(u.port, u.port), netlink.FAMILY_V4
	return r
}

// rules returns the rules that use the given tables.
func (u *userspace) rules(tables ...int) ([]netlink.Rule, error) {
	all, err := netlinkdump.All(func() ([]netlink.Rule, error) { return netlink.RuleList(netlink.FAMILY_V4) })
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
func (u *userspace) remove() error {
	existing, err := u.rules(routeTable, unusedTable)
	errs := []error{err}
	for _, r := range existing {
		errs = append(errs, netlink.RuleDel(&r))
	}
	return errors.Join(errs...)
}
