package node

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/host/ovs"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
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
		{"arriving", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority, "", []string{
			// Only the bridge knows which pod an address is of.
			knftables.Concat("iifname != {", tun0+",", "lo }", "ip saddr", inside, "drop"),
		}},
		{"forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, "", forward},
		{"input", knftables.FilterType, knftables.InputHook, knftables.FilterPriority, "", []string{
			knftables.Concat("iifname", tun0, "ip daddr", ovs.UnderlayNetwork, "drop"),
		}},
		{"leaving", knftables.NATType, knftables.PostroutingHook, beforeProxy, "", []string{
			// A pod that reaches itself by a Service must not see its own address: kube-proxy masquerades it.
			knftables.Concat("oifname", tun0, "ip saddr . ip daddr @"+hairpins, "return"),
			// A connection by a Service gets a source port that the pod does not use for a direct one to the same endpoint.
			knftables.Concat("oifname", tun0, "meta l4proto { tcp, udp, sctp } ct status dnat snat ip to ip saddr map @"+keepMap),
			// Clients outside of the cluster are not the node, which policies admit.
			knftables.Concat("oifname", tun0, "meta mark &", mark, "==", mark, "ip saddr !=", clusters, "fib saddr type != local snat to", flows.MasqueradeAddress(block)),
			// What is to leave with an egress IP has it by now, unless a third party has removed the rule.
			knftables.Concat("oifname !=", tun0, "ip saddr", clusters, "meta mark &", hex(egressip.MarkMask(c.MasqueradeBit)), "!= 0 drop"),
			knftables.Concat("oifname !=", tun0, "ip saddr", clusters, "ip daddr !=", clusters, "masquerade"),
		}},
		{"sources", knftables.FilterType, knftables.PostroutingHook, egressCheck, "", []string{
			// Nor does a connection that left with the node's address before, if a third party has removed the rules of egress IPs.
			knftables.Concat("oifname !=", tun0, "ct original ip saddr", clusters, "meta mark &", hex(egressip.MarkMask(c.MasqueradeBit)), "!= 0 ct direction original ct original zone 0 counter drop"),
		}},
	}, pods: slices.SortedFunc(slices.Values(pods), netip.Addr.Compare)}
	r.pods = slices.Compact(r.pods)
	return r
}

// table is the table of the rules.
func (r rules) table() nftTable {
	keep := collection{name: keepMap, kind: "ipv4_addr : interval ipv4_addr . inet_service", isMap: true, flags: []knftables.SetFlag{knftables.IntervalFlag}}
	same := collection{name: hairpins, kind: "ipv4_addr . ipv4_addr"}
	for _, p := range r.pods {
		keep.elements = append(keep.elements, element{[]string{p.String()}, []string{p.String(), keptPorts}})
		same.elements = append(same.elements, element{key: []string{p.String(), p.String()}})
	}
	return nftTable{family: knftables.IPv4Family, name: table, collections: []collection{keep, same}, chains: r.chains}
}

// applyRules makes the rules as they should be. They are written if they should be other ones, or if a third party has changed them.
func (d *daemon) applyRules(ctx context.Context, want rules) error {
	restored, err := d.rules.ensure(ctx, want.table())
	if restored {
		d.repairedTable(table)
	}
	return err
}

// repairedTable notes that a third party has changed a table of nftables.
func (d *daemon) repairedTable(name string) {
	d.Log.Warn("the rules of table " + name + " were changed by a third party and are restored")
	d.metrics.repairs.Inc()
}
