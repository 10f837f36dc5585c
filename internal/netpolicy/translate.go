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

// These are all ports, for a rule that names a protocol only.
const firstPort, lastPort = 1, 65535

// Translate returns the rules of all policies.
func Translate(in Input) Result {
	t := newTranslation(in)
	policies := slices.Clone(in.Policies)
	slices.SortFunc(policies, func(a, b *networkingv1.NetworkPolicy) int { return idOf(a).Compare(idOf(b)) })
	var r Result
	for _, p := range policies {
		one, problems := t.policy(p)
		r.Policies = append(r.Policies, one)
		r.Problems = append(r.Problems, problems...)
	}
	return r
}

func idOf(p *networkingv1.NetworkPolicy) ID { return ID{p.Namespace, p.Name} }

// translation has the pods of each namespace at hand.
type translation struct {
	namespaces []Namespace
	pods       map[string][]*Pod
}

func newTranslation(in Input) translation {
	t := translation{namespaces: in.Namespaces, pods: map[string][]*Pod{}}
	for i := range in.Pods {
		p := &in.Pods[i]
		if !p.HostNetwork && !p.Ended {
			t.pods[p.Namespace] = append(t.pods[p.Namespace], p)
		}
	}
	return t
}

// reader reads one policy and collects its problems.
type reader struct {
	translation
	policy   *networkingv1.NetworkPolicy
	problems []Problem
}

func (r *reader) problem(field, format string, args ...any) {
	r.problems = append(r.problems, Problem{idOf(r.policy), field, fmt.Sprintf(format, args...)})
}

func (t translation) policy(p *networkingv1.NetworkPolicy) (Policy, []Problem) {
	r := &reader{translation: t, policy: p}
	out := Policy{ID: idOf(p)}
	selected := r.podsOf(p.Namespace, r.selector("spec.podSelector", &p.Spec.PodSelector))
	out.Pods = ids(selected)
	ingress, egress := directions(p)
	if ingress {
		out.Ingress = &Direction{}
		for i, rule := range p.Spec.Ingress {
			field := fmt.Sprintf("spec.ingress[%d]", i)
			peers, _ := r.peers(field+".from", rule.From)
			out.Ingress.Rules = append(out.Ingress.Rules, Rule{i, peers, r.ports(field+".ports", rule.Ports, selected)})
		}
	}
	if egress {
		out.Egress = &Direction{}
		for i, rule := range p.Spec.Egress {
			field := fmt.Sprintf("spec.egress[%d]", i)
			peers, pods := r.peers(field+".to", rule.To)
			if peers == nil {
				pods = r.everyPod()
			} else if len(peers.Blocks) > 0 && slices.ContainsFunc(rule.Ports, isNamed) {
				pods = append(pods, r.podsIn(peers.Blocks)...)
			}
			out.Egress.Rules = append(out.Egress.Rules, Rule{i, peers, r.ports(field+".ports", rule.Ports, pods)})
		}
	}
	return out, r.problems
}

// directions are those in which a policy isolates. Without policyTypes that is ingress, and egress if there are rules for it.
func directions(p *networkingv1.NetworkPolicy) (ingress, egress bool) {
	if len(p.Spec.PolicyTypes) == 0 {
		return true, len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress), slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
}

// selector reads a label selector. One that cannot be understood selects nothing.
func (r *reader) selector(field string, s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		r.problem(field, "%v", err)
		return labels.Nothing()
	}
	return selector
}

// podsOf returns the pods of a namespace that a selector selects.
func (t translation) podsOf(namespace string, selector labels.Selector) []*Pod {
	if selector.Empty() {
		return t.pods[namespace]
	}
	var found []*Pod
	for _, p := range t.pods[namespace] {
		if selector.Matches(labels.Set(p.Labels)) {
			found = append(found, p)
		}
	}
	return found
}

func (t translation) everyPod() []*Pod {
	var all []*Pod
	for _, pods := range t.pods {
		all = append(all, pods...)
	}
	return all
}

// podsIn returns the pods with an address in one of some ranges.
func (t translation) podsIn(blocks []Block) []*Pod {
	return slices.DeleteFunc(t.everyPod(), func(p *Pod) bool {
		return !slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool {
			return slices.ContainsFunc(blocks, func(b Block) bool { return b.Contains(a) })
		})
	})
}

func isNamed(p networkingv1.NetworkPolicyPort) bool {
	return p.Port != nil && p.Port.Type == intstr.String
}

// ids are the names of pods, in order, each once.
func ids(pods []*Pod) []ID {
	all := make([]ID, len(pods))
	for i, p := range pods {
		all[i] = p.ID
	}
	slices.SortFunc(all, ID.Compare)
	return slices.Compact(all)
}

// peers returns the peers of a rule, nil for all, and the pods among them.
func (r *reader) peers(field string, from []networkingv1.NetworkPolicyPeer) (*Peers, []*Pod) {
	if len(from) == 0 {
		return nil, nil
	}
	out := &Peers{}
	var pods []*Pod
	for i, peer := range from {
		at := fmt.Sprintf("%s[%d]", field, i)
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
			pods = append(pods, r.podPeers(at, peer)...)
		}
	}
	out.Pods = ids(pods)
	return out, pods
}

// podPeers returns the pods of a peer: of the policy's own namespace, unless namespaces are selected.
func (r *reader) podPeers(field string, peer networkingv1.NetworkPolicyPeer) []*Pod {
	selector := labels.Everything()
	if peer.PodSelector != nil {
		selector = r.selector(field+".podSelector", peer.PodSelector)
	}
	if peer.NamespaceSelector == nil {
		return r.podsOf(r.policy.Namespace, selector)
	}
	var found []*Pod
	namespaces := r.selector(field+".namespaceSelector", peer.NamespaceSelector)
	for _, ns := range r.namespaces {
		if namespaces.Matches(labels.Set(ns.Labels)) {
			found = append(found, r.podsOf(ns.Name, selector)...)
		}
	}
	return found
}

// block reads an address range. One with an exception that cannot be understood matches nothing: it would allow too much.
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
			r.problem(at, "%s is not inside of %s", text, b.CIDR) // it takes nothing away
		default:
			out.Except = append(out.Except, e.Masked())
		}
	}
	return out, ok
}

// ports returns the ports of a rule, nil for all. destinations are the pods that a named port may be of.
func (r *reader) ports(field string, ports []networkingv1.NetworkPolicyPort, destinations []*Pod) []Port {
	if len(ports) == 0 {
		return nil
	}
	out := []Port{}
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
			out = append(out, Port{Protocol: protocol, First: firstPort, Last: lastPort})
		case p.Port.Type == intstr.String && p.EndPort != nil:
			r.problem(at+".endPort", "cannot be set for the named port %q", p.Port.StrVal)
		case p.Port.Type == intstr.String:
			out = append(out, named(protocol, p.Port.StrVal, destinations)...)
		default:
			if one, ok := r.numbers(at, protocol, p); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

// numbers reads a port or a range.
func (r *reader) numbers(field string, protocol corev1.Protocol, p networkingv1.NetworkPolicyPort) (Port, bool) {
	first, last := p.Port.IntVal, p.Port.IntVal
	if p.EndPort != nil {
		last = *p.EndPort
	}
	if first < firstPort || last > lastPort || last < first {
		r.problem(field, "%d to %d is not a range of ports", first, last)
		return Port{}, false
	}
	return Port{Protocol: protocol, First: uint16(first), Last: uint16(last)}, true
}

// named returns a port for each number that a name has among pods. Pods may give one name to different numbers, and one pod may
// have it in several containers.
func named(protocol corev1.Protocol, name string, destinations []*Pod) []Port {
	byNumber := map[uint16][]*Pod{}
	for _, pod := range destinations {
		for _, port := range pod.Ports {
			if port.Name == name && port.Protocol == protocol {
				byNumber[port.Port] = append(byNumber[port.Port], pod)
			}
		}
	}
	var out []Port
	for number, pods := range byNumber {
		out = append(out, Port{Protocol: protocol, First: number, Last: number, Destinations: ids(pods)})
	}
	slices.SortFunc(out, func(a, b Port) int { return int(a.First) - int(b.First) })
	return out
}
