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
	// table is the name of the agent's nftables table.
	table = "openshift-sdn"
	// keepMap maps pods to source ports for connections to Services. hairpins has the pods that may connect to themselves through a Service.
	keepMap  = "keep"
	hairpins = "hairpins"
	// beforeProxy is a priority before kube-proxy's source NAT.
	beforeProxy knftables.BaseChainPriority = "95"
	// keptPorts are below the range of ephemeral ports: clients do not choose them.
	keptPorts = "1024-32767"
	// machineConfigPorts are the ports of OpenShift's machine config server.
	machineConfigPorts = "{ 22623, 22624 }"
)

// rules are the node's rules.
type rules struct {
	chains []chain
	// pods are the addresses of the node's pods.
	pods []netip.Addr
}

// desiredRules returns the kernel's rules for packets of and to pods.
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
		// Pods must not impersonate nodes, not even through a Service whose endpoint is a node's tunnel.
		knftables.Concat("iifname", tun0, "udp dport", c.VXLANPort, "drop"),
		knftables.Concat("iifname", tun0, "ip daddr", ovs.UnderlayNetwork, "drop"),
		knftables.Concat("iifname", tun0, "ct state invalid drop"),
	}
	if c.OpenShift {
		forward = append(forward, knftables.Concat("iifname", tun0, "tcp dport", machineConfigPorts, "drop"))
	}
	r := rules{chains: []chain{
		{"arriving", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority, "", []string{
			// Only the bridge knows the pod of an address.
			knftables.Concat("iifname != {", tun0+",", "lo }", "ip saddr", inside, "drop"),
		}},
		{"forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, "", forward},
		{"input", knftables.FilterType, knftables.InputHook, knftables.FilterPriority, "", []string{
			knftables.Concat("iifname", tun0, "ip daddr", ovs.UnderlayNetwork, "drop"),
		}},
		{"leaving", knftables.NATType, knftables.PostroutingHook, beforeProxy, "", []string{
			// A pod that connects to itself through a Service must not see its own address: kube-proxy masquerades it.
			knftables.Concat("oifname", tun0, "ip saddr . ip daddr @"+hairpins, "return"),
			// A connection to a Service gets a source port that the pod does not use for a direct connection to the same endpoint.
			knftables.Concat("oifname", tun0, "meta l4proto { tcp, udp, sctp } ct status dnat snat ip to ip saddr map @"+keepMap),
			// Clients outside the cluster are not the node, whose packets policies always allow.
			knftables.Concat("oifname", tun0, "meta mark &", mark, "==", mark, "ip saddr !=", clusters, "fib saddr type != local snat to", flows.MasqueradeAddress(block)),
			// Packets with an egress IP already have it here, unless a third party has removed the rule.
			knftables.Concat("oifname !=", tun0, "ip saddr", clusters, "meta mark &", hex(egressip.MarkMask(c.MasqueradeBit)), "!= 0 drop"),
			knftables.Concat("oifname !=", tun0, "ip saddr", clusters, "ip daddr !=", clusters, "masquerade"),
		}},
		{"sources", knftables.FilterType, knftables.PostroutingHook, egressCheck, "", []string{
			// The same for connections that used the node's address before, if a third party has removed the rules for egress IPs.
			knftables.Concat("oifname !=", tun0, "ct original ip saddr", clusters, "meta mark &", hex(egressip.MarkMask(c.MasqueradeBit)), "!= 0 ct direction original ct original zone 0 counter drop"),
		}},
	}, pods: slices.SortedFunc(slices.Values(pods), netip.Addr.Compare)}
	r.pods = slices.Compact(r.pods)
	return r
}

// table returns the nftables table of the rules.
func (r rules) table() nftTable {
	keep := collection{name: keepMap, kind: "ipv4_addr : interval ipv4_addr . inet_service", isMap: true, flags: []knftables.SetFlag{knftables.IntervalFlag}}
	same := collection{name: hairpins, kind: "ipv4_addr . ipv4_addr"}
	for _, p := range r.pods {
		keep.elements = append(keep.elements, element{[]string{p.String()}, []string{p.String(), keptPorts}})
		same.elements = append(same.elements, element{key: []string{p.String(), p.String()}})
	}
	return nftTable{family: knftables.IPv4Family, name: table, collections: []collection{keep, same}, chains: r.chains}
}

// applyRules reconciles the rules in the kernel.
func (d *daemon) applyRules(ctx context.Context, want rules) error {
	t := want.table()
	restored, err := d.rules.ensure(ctx, t)
	if restored {
		d.repairs.Made(t.title())
	}
	return err
}
