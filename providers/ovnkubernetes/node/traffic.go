package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// table is the agent's nftables table in each IP family.
const table = "ovn-kubernetes"

// postrouting is the chain of the table.
const postrouting = "postrouting"

// traffic has the rules for source addresses by family.
type traffic map[knftables.Family][]string

// desiredTraffic returns the rules. Packets of pods that leave the cluster network get the node's address. Packets from outside to pods of other nodes get the
// address of the management port, so that replies return to this node; pods of this node see their clients' addresses.
func desiredTraffic(cluster, blocks []netip.Prefix) traffic {
	t := traffic{}
	for _, f := range []struct {
		family knftables.Family
		word   string
		is4    bool
	}{{knftables.IPv4Family, "ip", true}, {knftables.IPv6Family, "ip6", false}} {
		networks, own := ofFamily(cluster, f.is4), ofFamily(blocks, f.is4)
		if networks == "" || own == "" {
			t[f.family] = nil
			continue
		}
		t[f.family] = []string{
			knftables.Concat("oifname", topology.ManagementLink, f.word, "saddr !=", networks, f.word, "daddr !=", own, "masquerade"),
			knftables.Concat("oifname !=", topology.ManagementLink, f.word, "saddr", networks, f.word, "daddr !=", networks, "masquerade"),
		}
	}
	return t
}

// ofFamily returns the prefixes of a family as an nftables set; empty if there are none.
func ofFamily(all []netip.Prefix, is4 bool) string {
	var out []string
	for _, p := range all {
		if p.Addr().Is4() == is4 {
			out = append(out, p.String())
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "{ " + strings.Join(out, ", ") + " }"
}

// applyTraffic replaces the rules, atomically in each family. A family without rules has no table.
func applyTraffic(ctx context.Context, t traffic) error {
	var errs []error
	for family, rules := range t {
		nft, err := knftables.New(family, table)
		if err != nil {
			errs = append(errs, fmt.Errorf("use nftables: %w", err))
			continue
		}
		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{})
		if len(rules) == 0 {
			tx.Delete(&knftables.Table{})
		} else {
			tx.Add(&knftables.Chain{
				Name: postrouting, Type: knftables.PtrTo(knftables.NATType), Hook: knftables.PtrTo(knftables.PostroutingHook), Priority: knftables.PtrTo(knftables.SNATPriority),
			})
			tx.Flush(&knftables.Chain{Name: postrouting})
			for _, rule := range rules {
				tx.Add(&knftables.Rule{Chain: postrouting, Rule: rule})
			}
		}
		if err := nft.Run(ctx, tx); err != nil {
			errs = append(errs, fmt.Errorf("write the rules of table %s: %w", table, err))
		}
	}
	return errors.Join(errs...)
}
