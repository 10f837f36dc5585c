package node

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/knftables"

	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

const (
	topicOutside agent.Topic = "outside"
	// outsideTable is the nftables table that restricts connections to Services whose endpoints are outside the cluster network. Such packets of pods do not
	// return to the bridge, whose flows restrict all others.
	outsideTable = "openshift-sdn-outside"
	// policyMap and firewallMap map pods to their chains.
	policyMap, firewallMap = "policies", "firewalls"
)

// outsideRules returns the egress rules of NetworkPolicies and EgressNetworkPolicies for the node's pods. The destinations are never pods, so that only rules
// with address ranges or for all peers apply, as in the flows for packets without a Service.
func outsideRules(in flows.Input) nftTable {
	policies := collection{name: policyMap, kind: "ipv4_addr : verdict", isMap: true}
	firewalls := collection{name: firewallMap, kind: "ipv4_addr : verdict", isMap: true}
	chains := map[string]chain{}
	jump := func(to *collection, pod netip.Addr, prefix string, rules []string) {
		c := chain{name: prefix + nameOf(rules), rules: rules}
		chains[c.name] = c
		to.elements = append(to.elements, element{[]string{pod.String()}, []string{"jump " + c.name}})
	}
	closed := firewallChains(in)
	seen := map[netip.Addr]bool{}
	for _, p := range slices.SortedFunc(slices.Values(in.Pods), func(a, b flows.Pod) int { return a.Address.Compare(b.Address) }) {
		if seen[p.Address] { // the flows report it
			continue
		}
		seen[p.Address] = true
		if rules := policyRules(in, p.ID); rules != nil {
			jump(&policies, p.Address, "policy-", rules)
		}
		if rules := closed[p.VNID]; rules != nil {
			jump(&firewalls, p.Address, "firewall-", rules)
		}
	}
	out := nftTable{family: knftables.IPv4Family, name: outsideTable, recreate: true, collections: []collection{policies, firewalls}}
	for _, c := range chains {
		out.chains = append(out.chains, c)
	}
	slices.SortFunc(out.chains, func(a, b chain) int { return strings.Compare(a.name, b.name) })
	const translated = "ct direction original ct status dnat goto evaluate"
	tun0 := agentconfig.Tunnel
	out.chains = append(out.chains,
		chain{name: "evaluate", rules: []string{"ip saddr vmap @" + policyMap, "ip saddr vmap @" + firewallMap}},
		chain{"forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, "", []string{knftables.Concat("iifname", tun0, "oifname !=", tun0, translated)}},
		// Connections whose endpoint is this node.
		chain{"input", knftables.FilterType, knftables.InputHook, knftables.FilterPriority, "", []string{knftables.Concat("iifname", tun0, translated)}},
	)
	return out
}

// nameOf returns the part of a chain's name that depends on its rules.
func nameOf(rules []string) string {
	sum := sha256.Sum256([]byte(strings.Join(rules, "\n")))
	return fmt.Sprintf("%x", sum[:8])
}

// policyRules returns the rules of a pod; nil if no policy isolates it.
func policyRules(in flows.Input, pod netpolicy.ID) []string {
	if in.Mode != flows.NetworkPolicy {
		return nil
	}
	var out []string
	isolated := false
	for _, p := range in.Policies {
		if p.Egress == nil || !slices.Contains(p.Pods, pod) {
			continue
		}
		isolated = true
		for _, rule := range p.Egress.Rules {
			out = append(out, allowedRules(rule)...)
		}
	}
	if !isolated {
		return nil
	}
	slices.Sort(out)
	return append(slices.Compact(out), "drop")
}

// allowedRules returns the nftables rules of a policy rule: one for each combination of address range and ports.
func allowedRules(rule netpolicy.Rule) []string {
	destinations := []string{""}
	if rule.Peers != nil {
		destinations = nil
		for _, b := range rule.Peers.Blocks {
			if b.CIDR.Addr().Is4() {
				destinations = append(destinations, blockMatch(b))
			}
		}
	}
	ports := []string{""}
	if rule.Ports != nil {
		ports = portRules(rule.Ports)
	}
	var out []string
	for _, d := range destinations {
		for _, p := range ports {
			out = append(out, strings.Join(strings.Fields(d+" "+p+" return"), " "))
		}
	}
	return out
}

func blockMatch(b netpolicy.Block) string {
	out := "ip daddr " + b.CIDR.Masked().String()
	for _, e := range b.Except {
		out += " ip daddr != " + e.Masked().String()
	}
	return out
}

// portRules returns one match for each port. Named ports are omitted, since only pods have them.
func portRules(ports []netpolicy.Port) []string {
	var out []string
	for _, p := range ports {
		protocol := strings.ToLower(string(p.Protocol))
		switch {
		case p.Destinations != nil, !slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, p.Protocol):
		case p.First <= 1 && p.Last == 65535:
			out = append(out, "meta l4proto "+protocol)
		case p.First == p.Last:
			out = append(out, fmt.Sprintf("%s dport %d", protocol, p.First))
		default:
			out = append(out, fmt.Sprintf("%s dport %d-%d", protocol, p.First, p.Last))
		}
	}
	return out
}

// firewallChains returns the rules of egress firewalls by VNID. VNID 0 has none.
func firewallChains(in flows.Input) map[uint32][]string {
	out := map[uint32][]string{}
	if in.Mode == flows.Subnet {
		return out
	}
	for _, f := range in.Firewalls {
		if f.VNID == flows.Global {
			continue
		}
		rules := []string{fmt.Sprintf("ip daddr %s meta l4proto { tcp, udp } th dport 53 return", in.Address)}
		if f.Closed != "" {
			rules = append(rules, "drop")
		}
		for _, rule := range f.Rules {
			if f.Closed != "" {
				break
			}
			decision := "return"
			if rule.Deny {
				decision = "drop"
			}
			for _, to := range rule.Destinations {
				rules = append(rules, fmt.Sprintf("ip daddr %s %s", to.Masked(), decision))
			}
		}
		out[f.VNID] = rules
	}
	return out
}

// tableController keeps an nftables table in the state of the last set. Use newTableController to create it.
type tableController struct {
	// restored is called with the title of the table after a change by a third party was undone. note is called with the result of each attempt.
	restored func(string)
	note     func(error)
	changed  agent.Trigger
	table    managedTable

	mu      sync.Mutex
	desired *nftTable
	// done is closed when the desired table has been applied.
	done chan struct{}
}

func newTableController(restored func(string), note func(error)) *tableController {
	return &tableController{restored: restored, note: note, changed: agent.NewTrigger()}
}

// set changes the desired table. The returned channel is closed when the kernel has it or a later one.
func (k *tableController) set(t nftTable) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.desired != nil && k.desired.text() == t.text() {
		return k.done
	}
	k.desired = &t
	if k.done == nil || closed(k.done) {
		k.done = make(chan struct{})
	}
	k.changed.Fire()
	return k.done
}

// applied returns a channel that is closed when the kernel has the current desired table or a later one; nil before the first set.
func (k *tableController) applied() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.done
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run applies tables until the context ends.
func (k *tableController) run(ctx context.Context) {
	var beat agent.Beat
	agent.Loop{Apply: k.apply, Interval: resyncInterval, Changed: k.changed, Now: time.Now, Beat: &beat}.Run(ctx)
}

func (k *tableController) apply(ctx context.Context) error {
	k.mu.Lock()
	desired := k.desired
	k.mu.Unlock()
	if desired == nil {
		return nil
	}
	restored, err := k.table.ensure(ctx, *desired)
	if restored {
		k.restored(desired.title())
	}
	k.note(err)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.desired == desired && !closed(k.done) {
		close(k.done)
	}
	return nil
}
