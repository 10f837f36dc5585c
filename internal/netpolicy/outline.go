package netpolicy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Outline is one policy with its selectors, for networks that track the pods of each selector themselves: it changes only with the policy.
// Translate returns the same with pods instead of selectors.
type Outline struct {
	ID
	// Selected selects the pods to which the policy applies.
	Selected Selector
	// Ingress and Egress are nil if the policy does not isolate its pods in that direction.
	Ingress, Egress *OutlineDirection
}

// OutlineDirection is a Direction with selectors.
type OutlineDirection struct{ Rules []OutlineRule }

// OutlineRule is a Rule with selectors.
type OutlineRule struct {
	// Index is the place in the policy.
	Index int
	// Everyone is true for every peer, inside and outside of the cluster; Selectors and Blocks are empty then.
	Everyone  bool
	Selectors []Selector
	Blocks    []Block
	// Ports are nil for every port of every protocol. A rule whose ports are empty, but not nil, matches nothing.
	Ports []OutlinePort
}

// OutlinePort is a range of ports, or a named port of the destination if Name is set.
type OutlinePort struct {
	Protocol    corev1.Protocol
	First, Last uint16
	Name        string
}

// Selector selects pods of one namespace, or of several.
type Selector struct {
	// Namespace is that of the pods, unless Namespaces is set.
	Namespace string
	// Namespaces selects namespaces; nil for Namespace only.
	Namespaces labels.Selector
	// Pods selects pods.
	Pods labels.Selector
}

// Everywhere selects all pods of the cluster.
func Everywhere() Selector {
	return Selector{Namespaces: labels.Everything(), Pods: labels.Everything()}
}

// Key returns a text that is equal for equal selectors only.
func (s Selector) Key() string {
	if s.Namespaces == nil {
		return "namespace " + s.Namespace + ": " + keyOf(s.Pods)
	}
	return "namespaces " + keyOf(s.Namespaces) + ": " + keyOf(s.Pods)
}

// keyOf returns the text of a selector; "!" for one that selects nothing, whose own text would be that of one that selects everything.
func keyOf(s labels.Selector) string {
	if _, selectable := s.Requirements(); !selectable {
		return "!"
	}
	return s.String()
}

// Selects reports whether a pod is selected, of a namespace with these labels. Excluded pods never are.
func (s Selector) Selects(p *Pod, namespace Namespace) bool {
	switch {
	case p.HostNetwork || p.Ended:
		return false
	case s.Namespaces == nil && p.Namespace != s.Namespace:
		return false
	case s.Namespaces != nil && (namespace.Name != p.Namespace || !s.Namespaces.Matches(labels.Set(namespace.Labels))):
		return false
	}
	return s.Pods.Matches(labels.Set(p.Labels))
}

// OutlineOf converts a policy. Problems are its invalid parts, which match nothing.
func OutlineOf(p *networkingv1.NetworkPolicy) (Outline, []Problem) {
	r := &reader{policy: p}
	out := Outline{ID: idOf(p), Selected: Selector{Namespace: p.Namespace, Pods: r.selector("spec.podSelector", &p.Spec.PodSelector)}}
	ingress, egress := directions(p)
	if ingress {
		out.Ingress = &OutlineDirection{}
		for i, rule := range p.Spec.Ingress {
			field := fmt.Sprintf("spec.ingress[%d]", i)
			out.Ingress.Rules = append(out.Ingress.Rules, r.rule(i, field, field+".from", rule.From, rule.Ports))
		}
	}
	if egress {
		out.Egress = &OutlineDirection{}
		for i, rule := range p.Spec.Egress {
			field := fmt.Sprintf("spec.egress[%d]", i)
			out.Egress.Rules = append(out.Egress.Rules, r.rule(i, field, field+".to", rule.To, rule.Ports))
		}
	}
	return out, r.problems
}

// directions returns the directions in which a policy isolates. Without policyTypes that is ingress, and egress if there are rules for it.
func directions(p *networkingv1.NetworkPolicy) (ingress, egress bool) {
	if len(p.Spec.PolicyTypes) == 0 {
		return true, len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress), slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
}

// reader reads one policy and collects its problems.
type reader struct {
	policy   *networkingv1.NetworkPolicy
	problems []Problem
}

func (r *reader) problem(field, format string, args ...any) {
	r.problems = append(r.problems, Problem{idOf(r.policy), field, fmt.Sprintf(format, args...)})
}

func (r *reader) rule(index int, field, peersField string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) OutlineRule {
	out := OutlineRule{Index: index, Everyone: len(peers) == 0}
	for i, peer := range peers {
		at := fmt.Sprintf("%s[%d]", peersField, i)
		switch {
		case peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil):
			r.problem(at, "has ipBlock and a selector; write two peers")
		case peer.IPBlock != nil:
			if b, ok := r.block(at+".ipBlock", peer.IPBlock); ok {
				out.Blocks = append(out.Blocks, b)
			}
		case peer.PodSelector == nil && peer.NamespaceSelector == nil:
			r.problem(at, "has neither ipBlock nor a selector")
		default:
			out.Selectors = append(out.Selectors, r.peer(at, peer))
		}
	}
	out.Ports = r.ports(field+".ports", ports)
	return out
}

// selector converts a label selector. An invalid one selects nothing.
func (r *reader) selector(field string, s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		r.problem(field, "%v", err)
		return labels.Nothing()
	}
	return selector
}

// peer returns the selector of a peer: of pods of the policy's own namespace, unless namespaces are selected.
func (r *reader) peer(field string, peer networkingv1.NetworkPolicyPeer) Selector {
	s := Selector{Namespace: r.policy.Namespace, Pods: labels.Everything()}
	if peer.PodSelector != nil {
		s.Pods = r.selector(field+".podSelector", peer.PodSelector)
	}
	if peer.NamespaceSelector != nil {
		s.Namespace, s.Namespaces = "", r.selector(field+".namespaceSelector", peer.NamespaceSelector)
	}
	return s
}

// block parses an address range. One with an invalid exception matches nothing: it would allow too much.
func (r *reader) block(field string, b *networkingv1.IPBlock) (Block, bool) {
	cidr, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		r.problem(field+".cidr", "%q is not a CIDR", b.CIDR)
		return Block{}, false
	}
	out, ok := Block{CIDR: cidr.Masked()}, true
	for i, text := range b.Except {
		at := fmt.Sprintf("%s.except[%d]", field, i)
		e, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			r.problem(at, "%q is not a CIDR", text)
			ok = false
		case !out.CIDR.Contains(e.Addr()) || e.Bits() < cidr.Bits():
			r.problem(at, "%s is not inside of %s", text, b.CIDR) // it excludes nothing
		default:
			out.Except = append(out.Except, e.Masked())
		}
	}
	return out, ok
}

// ports returns the ports of a rule, nil for all.
func (r *reader) ports(field string, ports []networkingv1.NetworkPolicyPort) []OutlinePort {
	if len(ports) == 0 {
		return nil
	}
	out := []OutlinePort{}
	for i, p := range ports {
		at := fmt.Sprintf("%s[%d]", field, i)
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		switch {
		case p.Port == nil && p.EndPort != nil:
			r.problem(at+".endPort", "needs port")
		case p.Port == nil:
			out = append(out, OutlinePort{Protocol: protocol, First: firstPort, Last: lastPort})
		case p.Port.Type == intstr.String && p.EndPort != nil:
			r.problem(at+".endPort", "cannot be set for the named port %q", p.Port.StrVal)
		case p.Port.Type == intstr.String:
			out = append(out, OutlinePort{Protocol: protocol, Name: p.Port.StrVal})
		default:
			if one, ok := r.numbers(at, protocol, p); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

// numbers parses a port or a range.
func (r *reader) numbers(field string, protocol corev1.Protocol, p networkingv1.NetworkPolicyPort) (OutlinePort, bool) {
	first, last := p.Port.IntVal, p.Port.IntVal
	if p.EndPort != nil {
		last = *p.EndPort
	}
	if first < firstPort || last > lastPort || last < first {
		r.problem(field, "%d to %d is not a range of ports", first, last)
		return OutlinePort{}, false
	}
	return OutlinePort{Protocol: protocol, First: uint16(first), Last: uint16(last)}, true
}
