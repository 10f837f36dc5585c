package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	goiptables "github.com/coreos/go-iptables/iptables"
	"github.com/flannel-io/flannel/pkg/trafficmngr"
	"github.com/flannel-io/flannel/pkg/trafficmngr/iptables"
	"github.com/flannel-io/flannel/pkg/trafficmngr/nftables"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// iptablesResync is how often flannel checks its iptables rules, in seconds; flannel's default.
const iptablesResync = 5

// Flannel's tables and chains; its package does not export the names.
const (
	tableIPv4    = "flannel-ipv4"
	tableIPv6    = "flannel-ipv6"
	chainForward = "forward"
	chainMasq    = "postrtg"
	natTable     = "nat"
	natChain     = "FLANNEL-POSTRTG"
	filterTable  = "filter"
	filterChain  = "FLANNEL-FWD"
)

// traffic maintains flannel's firewall rules: pod traffic is forwarded, and masqueraded when it leaves the network. It uses nftables if the kernel and the nft
// binary support it, otherwise iptables.
type traffic struct {
	config     agentconfig.Config
	ipv4, ipv6 netip.Prefix
	manager    trafficmngr.TrafficManager
	// rules is the number of rules by table after the last write; nil with iptables, whose rules flannel's package checks itself.
	rules map[string]int
}

// newTraffic creates the rules. They stay when the context ends.
func newTraffic(ctx context.Context, config agentconfig.Config, v4, v6 netip.Prefix) (*traffic, error) {
	t := &traffic{config: config, ipv4: v4, ipv6: v6, manager: &iptables.IPTablesManager{}}
	_, err := knftables.New(knftables.IPv4Family, tableIPv4)
	if err == nil {
		t.manager, t.rules = &nftables.NFTablesManager{}, map[string]int{}
		if !config.Masquerade {
			// Rules from when it was enabled.
			if err := t.manager.CleanUp(ctx); err != nil {
				return nil, fmt.Errorf("remove old firewall rules: %w", err)
			}
		}
	} else if tables, iptablesErr := goiptables.New(); iptablesErr != nil {
		return nil, fmt.Errorf("neither nftables (%w) nor iptables (%w) can be used", err, iptablesErr)
	} else if err := recycle(tables, config.Network.IPv4); err != nil {
		return nil, err
	}
	if err := t.manager.Init(ctx); err != nil {
		return nil, fmt.Errorf("set up firewall: %w", err)
	}
	return t, t.set(ctx)
}

// recycle flushes flannel's iptables chain if it has rules of another network, for example before it grew: flannel's package appends to existing rules. With
// nftables it replaces all rules in one transaction.
func recycle(tables *goiptables.IPTables, network netip.Prefix) error {
	exists, err := tables.ChainExists(natTable, natChain)
	if err != nil || !exists {
		return err
	}
	rules, err := tables.List(natTable, natChain)
	if err != nil {
		return fmt.Errorf("read firewall rules: %w", err)
	}
	for _, rule := range rules {
		if strings.Contains(rule, "MASQUERADE") && !slices.Contains(strings.Fields(rule), network.String()) {
			if err := tables.ClearChain(natTable, natChain); err != nil {
				return fmt.Errorf("remove firewall rules of another network: %w", err)
			}
			return nil
		}
	}
	return nil
}

func (t *traffic) set(ctx context.Context) error {
	net4, net6 := flannelNet4(t.config.Network.IPv4), flannelNet6(t.config.Network.IPv6)
	t.manager.SetupAndEnsureForwardRules(ctx, net4, net6, iptablesResync)
	if t.config.Masquerade {
		// Flannel compares the current and the previous subnet to remove old rules; here all rules are always replaced.
		own := flannelLease(t.ipv4, t.ipv6, leaseAttrs{})
		err := t.manager.SetupAndEnsureMasqRules(ctx, net4, own.Subnet, net4, net6, own.IPv6Subnet, net6, own, iptablesResync, false)
		if err != nil {
			return fmt.Errorf("set masquerading rules: %w", err)
		}
	}
	for _, table := range t.tables() {
		n, err := t.count(ctx, table)
		if err != nil {
			return fmt.Errorf("check firewall rules: %w", err)
		}
		t.rules[table.name] = n
	}
	return nil
}

// repair restores the rules if some are missing, and reports whether they were.
func (t *traffic) repair(ctx context.Context) (bool, error) {
	for _, table := range t.tables() {
		if n, err := t.count(ctx, table); err != nil || n < t.rules[table.name] {
			if err := t.manager.Init(ctx); err != nil {
				return true, fmt.Errorf("set up firewall again: %w", err)
			}
			return true, t.set(ctx)
		}
	}
	return false, nil
}

type table struct {
	name   string
	family knftables.Family
}

// tables returns the tables to check.
func (t *traffic) tables() []table {
	if t.rules == nil {
		return nil
	}
	out := []table{{tableIPv4, knftables.IPv4Family}}
	if t.config.Network.DualStack() {
		out = append(out, table{tableIPv6, knftables.IPv6Family})
	}
	return out
}

// count returns the number of rules in one of flannel's tables.
func (t *traffic) count(ctx context.Context, table table) (int, error) {
	nft, err := knftables.New(table.family, table.name)
	if err != nil {
		return 0, err
	}
	chains := []string{chainForward}
	if t.config.Masquerade {
		chains = append(chains, chainMasq)
	}
	total := 0
	for _, chain := range chains {
		rules, err := nft.ListRules(ctx, chain)
		if err != nil {
			return 0, err
		}
		total += len(rules)
	}
	return total, nil
}
