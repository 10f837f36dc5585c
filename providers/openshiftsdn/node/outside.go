package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
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
	// Chains of pods that policies isolate, of the policies, and of egress firewalls have these prefixes.
	policyPrefix, allowPrefix, firewallPrefix = "policy-", "allow-", "firewall-"
)

// outsideRules returns the egress rules of NetworkPolicies and EgressNetworkPolicies for the node's pods. The destinations are never pods, so that only rules
// with address ranges or for all peers apply, as in the flows for packets without a Service. Each policy has one chain, which the chains of its pods jump to, so
// that the table grows with pods plus rules.
func outsideRules(in flows.Input) nftTable {
	policies := collection{name: policyMap, kind: "ipv4_addr : verdict", isMap: true}
	firewalls := collection{name: firewallMap, kind: "ipv4_addr : verdict", isMap: true}
	out := nftTable{family: knftables.IPv4Family, name: outsideTable, recreate: true, owners: map[string]string{}}
	chains := map[string]chain{}
	add := func(name, owner string, rules []string) {
		chains[name] = chain{name: name, rules: rules}
		if owner != "" {
			out.owners[name] = owner
		}
	}
	jump := func(to *collection, pod netip.Addr, name string) {
		to.elements = append(to.elements, element{[]string{pod.String()}, []string{"jump " + name}})
	}
	closed := firewallChains(in)
	allowed := policyChains(in)
	seen := map[netip.Addr]bool{}
	for _, p := range slices.SortedFunc(slices.Values(in.Pods), func(a, b flows.Pod) int { return a.Address.Compare(b.Address) }) {
		if seen[p.Address] { // the flows report it
			continue
		}
		seen[p.Address] = true
		if of := isolating(in, p.ID); len(of) > 0 {
			for _, policy := range of {
				if c := allowed[policy]; len(c.rules) > 0 {
					add(c.name, flows.PolicyOwner(policy.Namespace), c.rules)
				}
			}
			rules := podRules(of, allowed)
			name := policyPrefix + nameOf(rules)
			add(name, "", rules)
			jump(&policies, p.Address, name)
		}
		if f, exists := closed[p.VNID]; exists {
			add(f.name, f.owner, f.rules)
			jump(&firewalls, p.Address, f.name)
		}
	}
	out.collections = []collection{policies, firewalls}
	out.chains = slices.SortedFunc(maps.Values(chains), func(a, b chain) int { return strings.Compare(a.name, b.name) })
	const translated = "ct direction original ct status dnat goto evaluate"
	tun0 := agentconfig.Tunnel
	out.chains = append(out.chains,
		// Rules of policies accept, so that firewalls come first.
		chain{name: "evaluate", rules: []string{"ip saddr vmap @" + firewallMap, "ip saddr vmap @" + policyMap}},
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

// isolating returns the policies that isolate a pod, sorted.
func isolating(in flows.Input, pod netpolicy.ID) []netpolicy.ID {
	if in.Mode != flows.NetworkPolicy {
		return nil
	}
	var out []netpolicy.ID
	for _, p := range in.Policies {
		if p.Egress != nil && slices.Contains(p.Pods, pod) {
			out = append(out, p.ID)
		}
	}
	slices.SortFunc(out, netpolicy.ID.Compare)
	return out
}

// policyChains returns a chain for each policy, with the rules that accept packets. That of a closed policy has none.
func policyChains(in flows.Input) map[netpolicy.ID]chain {
	out := map[netpolicy.ID]chain{}
	for _, p := range in.Policies {
		if p.Egress == nil || in.Closed[flows.PolicyOwner(p.Namespace)] != "" {
			continue
		}
		var rules []string
		for _, rule := range p.Egress.Rules {
			rules = append(rules, allowedRules(rule)...)
		}
		slices.Sort(rules)
		rules = slices.Compact(rules)
		// Namespaces share no chain, since one may be closed.
		out[p.ID] = chain{name: allowPrefix + nameOf(append([]string{p.Namespace}, rules...)), rules: rules}
	}
	return out
}

// podRules returns the rules of a pod that policies isolate.
func podRules(of []netpolicy.ID, allowed map[netpolicy.ID]chain) []string {
	var out []string
	for _, policy := range of {
		if c := allowed[policy]; len(c.rules) > 0 {
			out = append(out, "jump "+c.name)
		}
	}
	slices.Sort(out)
	return append(slices.Compact(out), "drop")
}

// allowedRules returns the nftables rules of a policy rule: one for each protocol, with sets of address ranges and ports.
func allowedRules(rule netpolicy.Rule) []string {
	destinations := ""
	if rule.Peers != nil {
		var prefixes []netip.Prefix
		for _, b := range rule.Peers.Blocks {
			prefixes = append(prefixes, flows.Parts(b)...)
		}
		if prefixes = disjoint(prefixes); len(prefixes) == 0 {
			return nil
		}
		if prefixes[0].Bits() > 0 {
			destinations = "ip daddr " + setOf(prefixes)
		}
	}
	ports := []string{""}
	if rule.Ports != nil {
		ports = portRules(rule.Ports)
	}
	var out []string
	for _, p := range ports {
		out = append(out, strings.Join(strings.Fields(destinations+" "+p+" accept"), " "))
	}
	return out
}

// disjoint returns the prefixes without those that another one contains: sets of nftables have no intervals that overlap.
func disjoint(prefixes []netip.Prefix) []netip.Prefix {
	slices.SortFunc(prefixes, netip.Prefix.Compare)
	var out []netip.Prefix
	for _, p := range prefixes {
		if len(out) == 0 || !out[len(out)-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	return out
}

// setOf returns an anonymous set, or its only element.
func setOf[T fmt.Stringer](elements []T) string {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = e.String()
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}

// ports is a range of ports.
type ports struct{ first, last uint16 }

// String returns the range in nft's notation.
func (p ports) String() string {
	if p.first == p.last {
		return fmt.Sprint(p.first)
	}
	return fmt.Sprintf("%d-%d", p.first, p.last)
}

// portRules returns one match for each protocol. Named ports are omitted, since only pods have them.
func portRules(all []netpolicy.Port) []string {
	var out []string
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP} {
		var ranges []ports
		for _, p := range all {
			if p.Protocol == protocol && p.Destinations == nil {
				ranges = append(ranges, ports{p.First, p.Last})
			}
		}
		name := strings.ToLower(string(protocol))
		switch ranges = joined(ranges); {
		case len(ranges) == 0:
		case ranges[0].first <= 1 && ranges[0].last == 65535:
			out = append(out, "meta l4proto "+name)
		default:
			out = append(out, name+" dport "+setOf(ranges))
		}
	}
	return out
}

// joined returns the ranges sorted, with those that overlap or adjoin as one.
func joined(ranges []ports) []ports {
	slices.SortFunc(ranges, func(a, b ports) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last)) })
	var out []ports
	for _, r := range ranges {
		if n := len(out); n > 0 && int(r.first) <= int(out[n-1].last)+1 {
			out[n-1].last = max(out[n-1].last, r.last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// firewallChain is the chain of an egress firewall.
type firewallChain struct {
	name, owner string
	rules       []string
}

// firewallChains returns the chains of egress firewalls by VNID. VNID 0 has none.
func firewallChains(in flows.Input) map[uint32]firewallChain {
	out := map[uint32]firewallChain{}
	if in.Mode == flows.Subnet {
		return out
	}
	for _, f := range in.Firewalls {
		if f.VNID == flows.Global {
			continue
		}
		rules := []string{fmt.Sprintf("ip daddr %s meta l4proto { tcp, udp } th dport 53 return", in.Address)}
		if f.Closed != "" || in.Closed[f.Name] != "" {
			rules = append(rules, "drop")
			f.Rules = nil
		}
		for _, rule := range f.Rules {
			decision := "return"
			if rule.Deny {
				decision = "drop"
			}
			for _, to := range rule.Destinations {
				rules = append(rules, fmt.Sprintf("ip daddr %s %s", to.Masked(), decision))
			}
		}
		out[f.VNID] = firewallChain{firewallPrefix + nameOf(append([]string{f.Name}, rules...)), f.Name, rules}
	}
	return out
}

// tableController keeps an nftables table in the state of the last set. Use newTableController to create it.
type tableController struct {
	// restored is called with the title of the table after a change by a third party was undone. note is called with the result of each attempt.
	restored func(string)
	note     func(error)
	// closed is called with the owners of chains that the kernel refuses, and the reasons.
	closed  func(map[string]string)
	changed agent.Trigger
	table   managedTable
	// reduced is the table of a desired one with closed chains. Only apply uses it.
	reduced reducedTable

	mu      sync.Mutex
	desired *nftTable
	// done is closed when the desired table has been applied.
	done chan struct{}
}

// reducedTable is a desired table whose refused chains are closed, with the problems.
type reducedTable struct {
	of       *nftTable
	table    nftTable
	problems error
}

func newTableController(restored func(string), note func(error), closed func(map[string]string)) *tableController {
	return &tableController{restored: restored, note: note, closed: closed, changed: agent.NewTrigger()}
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
	if k.reduced.of != desired {
		k.reduced = reducedTable{of: desired, table: *desired}
	}
	restored, err := k.table.ensure(ctx, k.reduced.table)
	if err != nil && k.reduced.problems == nil {
		if k.reduce(ctx) {
			restored, err = k.table.ensure(ctx, k.reduced.table)
		}
	} else if err == nil && k.reduced.problems == nil {
		k.closed(nil)
	}
	if restored {
		k.restored(desired.title())
	}
	k.note(errors.Join(err, k.reduced.problems))
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

// reduce closes the chains that the kernel refuses. It reports whether there are any.
func (k *tableController) reduce(ctx context.Context) bool {
	refused, err := k.reduced.of.refused(ctx)
	if err != nil || len(refused) == 0 {
		return false
	}
	names, owners, problems := map[string]bool{}, map[string]string{}, []error{}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		names[name] = true
		owner := k.reduced.of.owners[name]
		owners[owner] = "nftables refuses their rules: " + refused[name].Error()
		problems = append(problems, fmt.Errorf("all packets that the %s would allow to addresses outside are dropped: %w", owner, refused[name]))
	}
	k.reduced.table, k.reduced.problems = k.reduced.of.closing(names), errors.Join(problems...)
	k.closed(owners)
	return true
}
