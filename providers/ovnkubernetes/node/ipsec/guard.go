package ipsec

import (
	"context"
	"fmt"
	"net/netip"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// table is the table of nftables that keeps packets in the clear away.
const table = "ovn-ipsec"

// guardRules returns the rules of a phase, by chain: none but with PhaseRequire. Packets that Open vSwitch sends are checked where they leave, after routing,
// those that arrive before they get the address of Open vSwitch. They are counted, so that a person sees them.
func guardRules(phase agentconfig.Phase, address netip.Addr, port uint16, c conditions) map[string][]string {
	if phase != agentconfig.PhaseRequire {
		return nil
	}
	return map[string][]string{
		"arriving": {knftables.Concat("iifname != lo", "iifname !=", ovs.UnderlayLink, c.arrivesClear, "ip daddr", address, "udp dport", port, "counter drop")},
		"leaving":  {knftables.Concat("oifname != lo", "oifname !=", ovs.UnderlayLink, c.leavesClear, "ip saddr {", address, ",", ovs.TunnelAddress(), "} udp dport", port, "counter drop")},
	}
}

// Guard has the node drop packets of tunnels in the clear if a phase requires that, and not if it does not.
func Guard(ctx context.Context, phase agentconfig.Phase, address netip.Addr, port uint16, e ESP) error {
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	rules := guardRules(phase, address, port, e.conditions())
	if rules == nil {
		return Unguard(ctx)
	}
	sum := hash(fmt.Sprint(rules))
	if written(ctx, nft, sum) {
		return nil
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	for _, c := range []struct {
		name     string
		hook     knftables.BaseChainHook
		priority knftables.BaseChainPriority
	}{
		{"arriving", knftables.PreroutingHook, "-310"}, // before the addresses of packets are replaced
		{"leaving", knftables.PostroutingHook, "90"},
	} {
		tx.Add(&knftables.Chain{Name: c.name, Type: knftables.PtrTo(knftables.FilterType), Hook: knftables.PtrTo(c.hook), Priority: knftables.PtrTo(c.priority)})
		tx.Flush(&knftables.Chain{Name: c.name})
		for _, r := range rules[c.name] {
			tx.Add(&knftables.Rule{Chain: c.name, Rule: r, Comment: &sum})
		}
	}
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("write the rules of table %s: %w", table, err)
	}
	return nil
}

// written reports whether the rules of a hash are there. Writing them again would set their counters to zero.
func written(ctx context.Context, nft knftables.Interface, sum string) bool {
	for _, chain := range []string{"arriving", "leaving"} {
		rules, err := nft.ListRules(ctx, chain)
		if err != nil || len(rules) != 1 || rules[0].Comment == nil || *rules[0].Comment != sum {
			return false
		}
	}
	return true
}

// Unguard removes the rules.
func Unguard(ctx context.Context) error {
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("remove the rules of table %s: %w", table, err)
	}
	return nil
}
