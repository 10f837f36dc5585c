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

// Connection is what policies decide about. Address and Port of the destination are those after the translation of Services.
type Connection struct {
	From, To End
	Protocol corev1.Protocol
	Port     uint16
}

// Verdict is a decision and what it is due to.
type Verdict struct {
	Allowed bool
	// Egress and Ingress are what decided in each direction. Policies is empty if no policy isolates the pod there.
	Egress, Ingress Decision
}

// Decision is that of one direction.
type Decision struct {
	// Policies are those that isolate the pod.
	Policies []ID
	// By is the policy whose rule allows the connection, and Rule its index; By is empty if none does.
	By   ID
	Rule int
}

// allows reports whether the direction lets the connection pass.
func (d Decision) allows() bool { return len(d.Policies) == 0 || d.By != ID{} }

// Allowed decides about a connection: the policies of the source must allow it to leave, and those of the destination to enter.
// A pod may always connect to itself.
func (r Result) Allowed(c Connection) Verdict {
	var v Verdict
	if c.From.Pod == c.To.Pod && c.From.Pod != (ID{}) {
		return Verdict{Allowed: true}
	}
	for _, p := range r.Policies {
		if p.Egress != nil && p.selects(c.From.Pod) {
			v.Egress.add(p.ID, p.Egress, c.To, c)
		}
		if p.Ingress != nil && p.selects(c.To.Pod) {
			v.Ingress.add(p.ID, p.Ingress, c.From, c)
		}
	}
	v.Allowed = v.Egress.allows() && v.Ingress.allows()
	return v
}

func (p Policy) selects(pod ID) bool { return pod != ID{} && contains(p.Pods, pod) }

func contains(pods []ID, pod ID) bool {
	_, found := slices.BinarySearchFunc(pods, pod, ID.Compare)
	return found
}

// add adds the view of a policy that isolates the pod.
func (d *Decision) add(policy ID, direction *Direction, peer End, c Connection) {
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

// Includes reports whether an end is among the peers: by its pod, or by its address. An address range also has pods. Nil has every end.
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
