package ipsec

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// table is the nftables table that drops unencrypted packets.
const table = "ovn-ipsec"

// cleartextRules returns the rules of a phase by chain; none except in PhaseRequire. Packets that Open vSwitch sends are checked after routing, and those that
// arrive before their address is replaced. The rules have counters for diagnosis.
func cleartextRules(phase agentconfig.Phase, address netip.Addr, port uint16, c conditions) map[string][]string {
	if phase != agentconfig.PhaseRequire {
		return nil
	}
	ip, inside := familyOf(address), ovs.Underlay{Node: address, Pair6: topology.TunnelNetwork6}.TunnelAddress()
	return map[string][]string{
		"arriving": {knftables.Concat("iifname != lo", "iifname !=", ovs.UnderlayLink, c.arrivesClear, ip, "daddr", address, "udp dport", port, "counter drop")},
		"leaving":  {knftables.Concat("oifname != lo", "oifname !=", ovs.UnderlayLink, c.leavesClear, ip, "saddr {", address, ",", inside, "} udp dport", port, "counter drop")},
	}
}

// familyOf returns the nftables family of an address, which is also its name in rules.
func familyOf(address netip.Addr) knftables.Family {
	if address.Is6() {
		return knftables.IPv6Family
	}
	return knftables.IPv4Family
}

// BlockCleartext drops unencrypted tunnel packets if a phase requires it, and otherwise removes the rules.
func BlockCleartext(ctx context.Context, phase agentconfig.Phase, address netip.Addr, port uint16, e ESP) error {
	nft, err := knftables.New(familyOf(address), table)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	rules := cleartextRules(phase, address, port, e.conditions())
	if rules == nil {
		return UnblockCleartext(ctx)
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

// written reports whether rules with a hash exist. Rewriting them would reset their counters.
func written(ctx context.Context, nft knftables.Interface, sum string) bool {
	for _, chain := range []string{"arriving", "leaving"} {
		rules, err := nft.ListRules(ctx, chain)
		if err != nil || len(rules) != 1 || rules[0].Comment == nil || *rules[0].Comment != sum {
			return false
		}
	}
	return true
}

// UnblockCleartext removes the rules of both families.
func UnblockCleartext(ctx context.Context) error {
	var errs []error
	for _, family := range []knftables.Family{knftables.IPv4Family, knftables.IPv6Family} {
		nft, err := knftables.New(family, table)
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}
		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{})
		tx.Delete(&knftables.Table{})
		if err := nft.Run(ctx, tx); err != nil {
			errs = append(errs, fmt.Errorf("remove the rules of table %s: %w", table, err))
		}
	}
	return errors.Join(errs...)
}
