package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	goiptables "github.com/coreos/go-iptables/iptables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/netlinkdump"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// Remove removes the remains of an agent with this configuration, and of its pods, from the node: first the configuration of the container runtime, so that no
// pod starts in the meantime, then routes, devices, firewall rules and files. Missing items are not errors, and it continues after errors. No agent may be
// running. Plugins stay, since other networks use them.
func Remove(ctx context.Context, config agentconfig.Config) error {
	certificate, key, pending := identity(config, "").Files()
	return errors.Join(
		cniFile(config).Remove(),
		removeRoutes(config.Network),
		removeTunnels(links{}),
		removeLinks(config.CNI.Bridge),
		removeTable(ctx, knftables.IPv4Family, tableIPv4),
		removeTable(ctx, knftables.IPv6Family, tableIPv6),
		removeChains(goiptables.ProtocolIPv4),
		removeChains(goiptables.ProtocolIPv6),
		removeFile(config.SubnetFile),
		removeFile(stateFile(config)),
		removeFile(certificate),
		removeFile(key),
		removeFile(pending),
	)
}

func removeFile(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove file: %w", err)
	}
	return nil
}

// removeRoutes removes routes to the subnets of other nodes through any interface. Those with other protocols stay.
func removeRoutes(network agentconfig.Network) error {
	names, err := linkNames()
	if err != nil {
		return err
	}
	live, err := readRoutes(network, names)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range live {
		if !r.Boot || !r.Via.IsValid() {
			continue
		}
		if err := changeRoute(netlink.RouteDel, r.route, names); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("remove route to %s via %s: %w", r.To, r.Via, err))
		}
	}
	return errors.Join(errs...)
}

func removeLinks(names ...string) error {
	var errs []error
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
			continue
		}
		if err == nil {
			err = netlink.LinkDel(link)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove interface %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// tunnelNames matches flannel's names of vxlan devices.
var tunnelNames = regexp.MustCompile(`^flannel(-v6)?\.[0-9]+$`)

// removeTunnels removes flannel's vxlan devices except those in keep. They belong to earlier settings: another identifier or backend.
func removeTunnels(keep links) error {
	all, err := netlinkdump.All(netlink.LinkList)
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	var old []string
	for _, link := range all {
		name := link.Attrs().Name
		if link.Type() == "vxlan" && tunnelNames.MatchString(name) && name != keep.IPv4 && name != keep.IPv6 {
			old = append(old, name)
		}
	}
	return removeLinks(old...)
}

// removeTable removes an nftables table. Without nftables there is none.
func removeTable(ctx context.Context, family knftables.Family, name string) error {
	nft, err := knftables.New(family, name)
	if err != nil {
		return nil //nolint:nilerr // the agent could not use it either
	}
	tx := nft.NewTransaction()
	// Old versions of nft have no destroy.
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("remove table %s: %w", name, err)
	}
	return nil
}

// removeChains removes the chains of an agent without nftables, and the rules that jump to them. Without iptables there are none.
func removeChains(protocol goiptables.Protocol) error {
	tables, err := goiptables.NewWithProtocol(protocol)
	if err != nil {
		return nil //nolint:nilerr // the agent could not use it either
	}
	var errs []error
	for _, c := range []struct{ table, from, chain, comment string }{
		{natTable, "POSTROUTING", natChain, "flanneld masq"},
		{filterTable, "FORWARD", filterChain, "flanneld forward"},
	} {
		exists, err := tables.ChainExists(c.table, c.chain)
		if err != nil || !exists {
			continue
		}
		if err := tables.DeleteIfExists(c.table, c.from, "-m", "comment", "--comment", c.comment, "-j", c.chain); err != nil {
			errs = append(errs, fmt.Errorf("remove jump from %s to %s: %w", c.from, c.chain, err))
		}
		if err := tables.ClearAndDeleteChain(c.table, c.chain); err != nil {
			errs = append(errs, fmt.Errorf("remove chain %s: %w", c.chain, err))
		}
	}
	return errors.Join(errs...)
}
