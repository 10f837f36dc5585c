package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	// table is the agent's table of nftables.
	table = "openshift-sdn"
	// keepMap has the source ports of pods for connections by Services, hairpins the pods that reach themselves by one.
	keepMap  = "keep"
	hairpins = "hairpins"
	// beforeProxy is before the priority of kube-proxy's chains for source addresses.
	beforeProxy knftables.BaseChainPriority = "95"
	// keptPorts are ports that clients do not choose: those below the range of ephemeral ports.
	keptPorts = "1024-32767"
	// machineConfigPorts serve configurations of machines on OpenShift.
	machineConfigPorts = "{ 22623, 22624 }"
)

// chain is a chain of rules.
type chain struct {
	name     string
	kind     knftables.BaseChainType
	hook     knftables.BaseChainHook
	priority knftables.BaseChainPriority
	rules    []string
}

// rules are the node's rules.
type rules struct {
	chains []chain
	// pods are the addresses of the node's pods.
	pods []netip.Addr
}

// desiredRules computes what the node's kernel does with packets of and for pods.
func desiredRules(c agentconfig.Config, block netip.Prefix, pods []netip.Addr) rules {
	var pools []string
	for _, p := range c.Pools() {
		pools = append(pools, p.String())
	}
	clusters := "{ " + strings.Join(pools, ", ") + " }"
	inside := "{ " + strings.Join(append(pools, c.ServiceNetwork.String()), ", ") + " }"
	tun0 := agentconfig.Tunnel
	mark := fmt.Sprintf("%#x", uint32(1)<<c.MasqueradeBit)
	forward := []string{
		// Pods must not be taken for nodes, also not by a Service whose endpoint is a node's tunnel.
		knftables.Concat("iifname", tun0, "udp dport", c.VXLANPort, "drop"),
		knftables.Concat("iifname", tun0, "ip daddr", ovs.UnderlayNetwork, "drop"),
		knftables.Concat("iifname", tun0, "ct state invalid drop"),
	}
	if c.OpenShift {
		forward = append(forward, knftables.Concat("iifname", tun0, "tcp dport", machineConfigPorts, "drop"))
	}
	r := rules{chains: []chain{
		{"arriving", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority, []string{
			// Only the bridge knows which pod an address is of.
			knftables.Concat("iifname != {", tun0+",", "lo }", "ip saddr", inside, "drop"),
		}},
		{"forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, forward},
		{"input", knftables.FilterType, knftables.InputHook, knftables.FilterPriority, []string{
			knftables.Concat("iifname", tun0, "ip daddr", ovs.UnderlayNetwork, "drop"),
		}},
		{"leaving", knftables.NATType, knftables.PostroutingHook, beforeProxy, []string{
			// A pod that reaches itself by a Service must not see its own address: kube-proxy masquerades it.
			knftables.Concat("oifname", tun0, "ip saddr . ip daddr @"+hairpins, "return"),
			// A connection by a Service gets a source port that the pod does not use for a direct one to the same endpoint.
			knftables.Concat("oifname", tun0, "meta l4proto { tcp, udp, sctp } ct status dnat snat ip to ip saddr map @"+keepMap),
			// Clients outside of the cluster are not the node, which policies admit.
			knftables.Concat("oifname", tun0, "meta mark &", mark, "==", mark, "ip saddr !=", clusters, "fib saddr type != local snat to", flows.MasqueradeAddress(block)),
			knftables.Concat("oifname !=", tun0, "ip saddr", clusters, "ip daddr !=", clusters, "masquerade"),
		}},
	}, pods: slices.SortedFunc(slices.Values(pods), netip.Addr.Compare)}
	r.pods = slices.Compact(r.pods)
	return r
}

// text is the same for the same rules.
func (r rules) text() string { return fmt.Sprintf("%+v", r) }

// apply replaces the rules, all at once.
func (r rules) apply(ctx context.Context) error {
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	keep := &knftables.Map{Name: keepMap, Type: "ipv4_addr : interval ipv4_addr . inet_service", Flags: []knftables.SetFlag{knftables.IntervalFlag}}
	same := &knftables.Set{Name: hairpins, Type: "ipv4_addr . ipv4_addr"}
	tx.Add(keep)
	tx.Flush(keep)
	tx.Add(same)
	tx.Flush(same)
	for _, p := range r.pods {
		tx.Add(&knftables.Element{Map: keepMap, Key: []string{p.String()}, Value: []string{p.String(), keptPorts}})
		tx.Add(&knftables.Element{Set: hairpins, Key: []string{p.String(), p.String()}})
	}
	for _, c := range r.chains {
		tx.Add(&knftables.Chain{Name: c.name, Type: knftables.PtrTo(c.kind), Hook: knftables.PtrTo(c.hook), Priority: knftables.PtrTo(c.priority)})
		tx.Flush(&knftables.Chain{Name: c.name})
		for _, rule := range c.rules {
			tx.Add(&knftables.Rule{Chain: c.name, Rule: rule})
		}
	}
	if err := nft.Run(ctx, tx); err != nil {
		return fmt.Errorf("write the rules of table %s: %w", table, err)
	}
	return nil
}

// removeRules removes the table.
func removeRules(ctx context.Context) error {
	nft, err := knftables.New(knftables.IPv4Family, table)
	if err != nil {
		return fmt.Errorf("use nftables: %w", err)
	}
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	return nft.Run(ctx, tx)
}

// rulesInKernel is what the kernel has, as nft prints it; empty if it has no table.
func rulesInKernel(ctx context.Context, run func(context.Context, ...string) (string, error)) (string, error) {
	out, err := run(ctx, "list", "table", "ip", table)
	if err != nil && strings.Contains(err.Error(), "No such file or directory") {
		return "", nil
	}
	return out, err
}

// applyRules makes the rules as they should be. They are written if they should be other ones, or if a third party has changed them.
func (d *daemon) applyRules(ctx context.Context, want rules) error {
	have, err := rulesInKernel(ctx, runNFT)
	if err != nil {
		return err
	}
	text := want.text()
	if text == d.rulesWanted && have == d.rulesHad {
		return nil
	}
	if text == d.rulesWanted && d.rulesHad != "" {
		d.Log.Warn("the rules of table " + table + " were changed by a third party and are restored")
		d.metrics.repairs.Inc()
	}
	if err := want.apply(ctx); err != nil {
		return err
	}
	after, err := rulesInKernel(ctx, runNFT)
	d.rulesWanted, d.rulesHad = text, after
	return errors.Join(err)
}
