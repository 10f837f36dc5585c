package connectivity

import (
	"fmt"
	"slices"
)

// failures says of which kinds scenarios between two places have failed, and succeeded.
type failures struct{ bad, good map[kind]bool }

// hops says on which hop what fails, for each pair of places that do not reach one another: the first one on the way from a
// pod by its node and the other node to the other pod that does not work by itself.
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
	var said []string
	for _, p := range order {
		if len(pairs[p].bad) == 0 {
			continue
		}
		own, far := pairs[pair{p.from, p.from}], pairs[pair{p.to, p.to}]
		said = append(said, hop(p.from, p.to, pairs[p], own, far))
	}
	if len(said) == 0 {
		said = services(all, failed)
	}
	said = append(said, decisions(all, failed, len(said) > 0)...)
	slices.Sort(said)
	return slices.Compact(said)
}

// hop names the first hop that does not work by itself. own and far are what each of the two nodes does alone.
func hop(from, to string, way, own, far failures) string {
	switch {
	case from == to && (way.bad[podHost] || way.bad[hostPod]):
		return fmt.Sprintf("pod -> own node on %s: check the agent's pod there, the bridge and the routes of pods", from)
	case from == to:
		return fmt.Sprintf("pod -> pod on %s: the bridge of pods does not pass packets, or not full ones", from)
	case way.bad[hostHost] && !way.good[hostHost]:
		return fmt.Sprintf("node %s -> node %s: the nodes do not reach one another; check their links, and the network between them", from, to)
	case way.bad[hostHost]:
		return fmt.Sprintf("node %s -> node %s: not everything gets through between the nodes: a firewall, or an MTU that is too large", from, to)
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

// services says what fails where all pods and nodes reach one another.
func services(all []scenario, failed map[string]bool) []string {
	var said []string
	for _, s := range all {
		if failed[s.ID] && s.kind == other {
			said = append(said, fmt.Sprintf("Services on %s: pods and nodes reach one another, but not through Services, DNS names or ports; check the kube-proxy pod there, and the cluster's DNS", s.from))
		}
	}
	return said
}

// decisions says on which nodes policies or the isolation of namespaces are not as they should be. While other connections fail too, those that
// should pass fail with them.
func decisions(all []scenario, failed map[string]bool, broken bool) []string {
	var said []string
	for _, s := range all {
		if s.kind != decided || !failed[s.ID] || broken && !s.Denied {
			continue
		}
		where := s.from
		if s.to != "" && s.to != s.from {
			where += " and " + s.to
		}
		what := "connections pass that have to be dropped"
		if !s.Denied {
			what = "connections are dropped that have to pass"
		}
		said = append(said, fmt.Sprintf("pods on %s: %s; check the network's agent there, which enforces policies and isolation", where, what))
	}
	return said
}
