package netpolicy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// End is one end of a connection: a pod, or an address outside of the cluster's pods if Pod is empty.
type End struct {
	Pod     ID
	Address netip.Addr
}

// Connection is a connection that policies allow or deny. Address and Port of the destination are those after the translation of Services.
type Connection struct {
	From, To End
	Protocol corev1.Protocol
	Port     uint16
}

// Decision is the decision about a connection with its causes.
type Decision struct {
	Allowed bool
	// Egress and Ingress are the decisions of each direction.
	Egress, Ingress DirectionDecision
}

// DirectionDecision is the decision of one direction.
type DirectionDecision struct {
	// Policies are those that isolate the pod; empty if none does.
	Policies []ID
	// By is the policy whose rule allows the connection, and Rule its index; By is empty if none does.
	By   ID
	Rule int
}

// allows reports whether the direction lets the connection pass.
func (d DirectionDecision) allows() bool { return len(d.Policies) == 0 || d.By != ID{} }

// Allowed decides about a connection: egress policies of the source and ingress policies of the destination must allow it.
// A pod may always connect to itself.
func (r Result) Allowed(c Connection) Decision {
	var d Decision
	if c.From.Pod == c.To.Pod && c.From.Pod != (ID{}) {
		return Decision{Allowed: true}
	}
	for _, p := range r.Policies {
		if p.Egress != nil && p.selects(c.From.Pod) {
			d.Egress.add(p.ID, p.Egress, c.To, c)
		}
		if p.Ingress != nil && p.selects(c.To.Pod) {
			d.Ingress.add(p.ID, p.Ingress, c.From, c)
		}
	}
	d.Allowed = d.Egress.allows() && d.Ingress.allows()
	return d
}

func (p Policy) selects(pod ID) bool { return pod != ID{} && contains(p.Pods, pod) }

func contains(pods []ID, pod ID) bool {
	_, found := slices.BinarySearchFunc(pods, pod, ID.Compare)
	return found
}

// add adds a policy that isolates the pod.
func (d *DirectionDecision) add(policy ID, direction *Direction, peer End, c Connection) {
	d.Policies = append(d.Policies, policy)
	if d.By != (ID{}) {
		return
	}
	for _, rule := range direction.Rules {
		if rule.matches(peer, c) {
			d.By, d.Rule = policy, rule.Index
			return
		}
	}
}

func (r Rule) matches(peer End, c Connection) bool {
	if !r.Peers.Includes(peer) {
		return false
	}
	return r.Ports == nil || slices.ContainsFunc(r.Ports, func(p Port) bool { return p.matches(c) })
}

// Includes reports whether an end is among the peers: by its pod, or by its address. An address range also includes pods. Nil includes every end.
func (p *Peers) Includes(e End) bool {
	if p == nil {
		return true
	}
	if e.Pod != (ID{}) && contains(p.Pods, e.Pod) {
		return true
	}
	return e.Address.IsValid() && slices.ContainsFunc(p.Blocks, func(b Block) bool { return b.Contains(e.Address) })
}

func (p Port) matches(c Connection) bool {
	if p.Protocol != c.Protocol || c.Port < p.First || c.Port > p.Last {
		return false
	}
	return p.Destinations == nil || contains(p.Destinations, c.To.Pod)
}
