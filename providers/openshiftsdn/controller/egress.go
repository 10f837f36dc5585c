package controller

import (
	"context"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/egressip"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/tunnelprobe"
)

// egress is the controller that assigns egress IPs to nodes.
type egress struct{ *term }

func newEgress(t *term) egress { return egress{t} }

// reconcile performs one step of the assignment.
func (e egress) reconcile(ctx context.Context) error {
	subnets, namespaces := e.subnets.list(), e.netNamespaces.list()
	if e.Network.Mode == agentconfig.Subnet {
		e.report(egressLoop, modeProblems(subnets, namespaces))
		return nil
	}
	e.probe(ctx, subnets)
	cluster, problems := egressip.Read(subnets, namespaces, e.Network.Reserved(), e.Network.Mode == agentconfig.Multitenant, e.states())
	desired, missing := egressip.Assign(cluster)
	_, conflicts := egressip.Resolve(cluster)
	var all []problem
	for _, p := range slices.Concat(problems, missing, conflicts) {
		all = append(all, problem(p))
	}
	e.report(egressLoop, all)
	asked := map[netip.Addr]bool{}
	for _, n := range cluster.Namespaces {
		for _, a := range n.Addresses {
			asked[a] = true
		}
	}
	e.metrics.egressIPs.Store(int64(len(asked)))
	var update []*sdnv1.HostSubnet
	for _, n := range cluster.Nodes {
		var texts []string
		for _, a := range desired[n.Name] {
			texts = append(texts, a.String())
		}
		if _, automatic := desired[n.Name]; automatic && !slices.Equal(texts, n.Object.EgressIPs) {
			changed := n.Object.DeepCopy()
			changed.EgressIPs = texts
			update = append(update, changed)
		}
	}
	if len(update) == 0 {
		return nil
	}
	// A step never adds an address to a node while another node still has it. Therefore the order of writes does not matter.
	err := e.writer.all(ctx, changes(e.writer, e.subnets, nil, update, nil))
	e.triggers[egressLoop].Fire()
	return err
}

// probe starts probes of the nodes that have or may get egress IPs, at the first address of their blocks, which is that of tun0.
func (e egress) probe(ctx context.Context, subnets []*sdnv1.HostSubnet) {
	targets := map[string]netip.Addr{}
	for _, s := range subnets {
		if len(s.EgressIPs)+len(s.EgressCIDRs) == 0 {
			continue
		}
		if block, err := netip.ParsePrefix(s.Subnet); err == nil {
			targets[s.Name] = block.Masked().Addr().Next()
		}
	}
	e.monitor.Watch(ctx, targets)
}

// states returns a function that maps the name of a node to its state.
func (e egress) states() func(string) egressip.State {
	// Most clusters have no node that may get egress IPs.
	unready := sync.OnceValue(func() map[string]bool {
		unready := map[string]bool{}
		for _, n := range e.nodes.list() {
			unready[n.Name] = !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
		}
		return unready
	})
	return func(name string) egressip.State {
		switch e.monitor.State(name) {
		case tunnelprobe.Unreachable:
			return egressip.Offline
		case tunnelprobe.Reachable:
			if unready()[name] {
				return egressip.Held
			}
			return egressip.Online
		case tunnelprobe.Unknown:
			return egressip.Unknown
		}
		return egressip.Unknown
	}
}

// firewall reports EgressNetworkPolicies that are not applied as written, and updates metrics.
func (t *term) firewall(context.Context) error {
	policies, namespaces := t.firewalls.list(), t.netNamespaces.list()
	t.report(firewallLoop, firewallProblems(t.Network.Mode, policies, namespaces))
	rules, multicast := 0, 0
	for _, p := range policies {
		rules += len(p.Spec.Egress)
	}
	for _, n := range namespaces {
		if n.Annotations[sdnv1.AnnotationMulticast] == "true" {
			multicast++
		}
	}
	t.metrics.firewalls.Store(int64(len(policies)))
	t.metrics.rules.Store(int64(rules))
	t.metrics.multicast.Store(int64(multicast))
	return nil
}
