package connectivity

import (
	"fmt"
	"slices"
)

// failures has the kinds of the failed and the successful scenarios between two places.
type failures struct{ bad, good map[kind]bool }

// hops returns the failing hop for each pair of places that cannot reach one another: the first hop that fails independently on the
// way from a pod to its node, the other node and the other pod.
func hops(all []scenario, failed map[string]bool) []string {
	type pair struct{ from, to string }
	pairs := map[pair]failures{}
	var order []pair
	for _, s := range all {
		if s.kind == other || s.kind == decided {
			continue
		}
		p := pair{s.from, s.to}
		if _, ok := pairs[p]; !ok {
			pairs[p] = failures{bad: map[kind]bool{}, good: map[kind]bool{}}
			order = append(order, p)
		}
		if failed[s.ID] {
			pairs[p].bad[s.kind] = true
		} else {
			pairs[p].good[s.kind] = true
		}
	}
	var sentences []string
	for _, p := range order {
		if len(pairs[p].bad) == 0 {
			continue
		}
		own, far := pairs[pair{p.from, p.from}], pairs[pair{p.to, p.to}]
		sentences = append(sentences, hop(p.from, p.to, pairs[p], own, far))
	}
	if len(sentences) == 0 {
		sentences = services(all, failed)
	}
	sentences = append(sentences, decisions(all, failed, len(sentences) > 0)...)
	slices.Sort(sentences)
	return slices.Compact(sentences)
}

// hop returns the first hop that fails independently of others. own and far are the failures within each of the two nodes.
func hop(from, to string, way, own, far failures) string {
	switch {
	case from == to && (way.bad[podHost] || way.bad[hostPod]):
		return fmt.Sprintf("pod -> own node on %s: check the agent's pod there, the bridge and the routes of pods", from)
	case from == to:
		return fmt.Sprintf("pod -> pod on %s: the bridge of pods does not pass packets, or not full ones", from)
	case way.bad[hostHost] && !way.good[hostHost]:
		return fmt.Sprintf("node %s -> node %s: the nodes do not reach one another; check their links, and the network between them", from, to)
	case way.bad[hostHost]:
		return fmt.Sprintf("node %s -> node %s: some packets are lost between the nodes: check for a firewall or an MTU that is too large", from, to)
	case own.bad[podHost] || own.bad[hostPod]:
		return fmt.Sprintf("pod -> own node on %s, before %s: check the agent's pod there", from, to)
	case far.bad[hostPod] || far.bad[podHost]:
		return fmt.Sprintf("node %s -> its pod, after %s: check the agent's pod there", to, from)
	case way.bad[hostPod] || way.bad[podPod]:
		return fmt.Sprintf("node %s -> node %s, packets of pods: the nodes reach one another, their pods do not; routes, the tunnel or a firewall", from, to)
	default:
		return fmt.Sprintf("pod on %s -> node %s: a route or a firewall of the node", from, to)
	}
}

// services returns failures of Services on nodes whose pods and nodes reach one another.
func services(all []scenario, failed map[string]bool) []string {
	var sentences []string
	for _, s := range all {
		if failed[s.ID] && s.kind == other {
			sentences = append(sentences, fmt.Sprintf("Services on %s: pods and nodes reach one another, but not through Services, DNS names or ports; check the kube-proxy pod there, and the cluster's DNS", s.from))
		}
	}
	return sentences
}

// decisions returns the nodes on which policies or the isolation of namespaces are not enforced correctly. If other connections fail as well
// (broken), connections that should be allowed are ignored.
func decisions(all []scenario, failed map[string]bool, broken bool) []string {
	var sentences []string
	for _, s := range all {
		if s.kind != decided || !failed[s.ID] || broken && !s.Denied {
			continue
		}
		where := s.from
		if s.to != "" && s.to != s.from {
			where += " and " + s.to
		}
		what := "connections succeed that must be dropped"
		if !s.Denied {
			what = "connections are dropped that must succeed"
		}
		sentences = append(sentences, fmt.Sprintf("pods on %s: %s; check the network's agent there, which enforces policies and isolation", where, what))
	}
	return sentences
}
