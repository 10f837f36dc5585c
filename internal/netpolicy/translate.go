package netpolicy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The range of all ports, for a rule that names only a protocol.
const firstPort, lastPort = 1, 65535

// Translate returns the rules of all policies.
func Translate(in Input) Result {
	t := newTranslation(in)
	policies := slices.Clone(in.Policies)
	slices.SortFunc(policies, func(a, b *networkingv1.NetworkPolicy) int { return idOf(a).Compare(idOf(b)) })
	var r Result
	for _, p := range policies {
		one, problems := OutlineOf(p)
		r.Policies = append(r.Policies, t.policy(one))
		r.Problems = append(r.Problems, problems...)
	}
	return r
}

func idOf(p *networkingv1.NetworkPolicy) ID { return ID{p.Namespace, p.Name} }

// translation indexes the pods by namespace.
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

func (t translation) policy(o Outline) Policy {
	out := Policy{ID: o.ID}
	selected := t.selected(o.Selected)
	out.Pods = ids(selected)
	if o.Ingress != nil {
		out.Ingress = &Direction{}
		for _, rule := range o.Ingress.Rules {
			peers, _ := t.peers(rule)
			out.Ingress.Rules = append(out.Ingress.Rules, Rule{rule.Index, peers, resolve(rule.Ports, selected)})
		}
	}
	if o.Egress != nil {
		out.Egress = &Direction{}
		for _, rule := range o.Egress.Rules {
			peers, pods := t.peers(rule)
			if rule.Everyone {
				pods = t.everyPod()
			} else if len(rule.Blocks) > 0 && slices.ContainsFunc(rule.Ports, func(p OutlinePort) bool { return p.Name != "" }) {
				pods = append(pods, t.podsIn(rule.Blocks)...)
			}
			out.Egress.Rules = append(out.Egress.Rules, Rule{rule.Index, peers, resolve(rule.Ports, pods)})
		}
	}
	return out
}

// selected returns the pods that a selector selects.
func (t translation) selected(s Selector) []*Pod {
	var found []*Pod
	for _, ns := range t.namespacesOf(s) {
		found = append(found, t.podsOf(ns, s.Pods)...)
	}
	return found
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

// podsIn returns the pods with an address in one of the ranges.
func (t translation) podsIn(blocks []Block) []*Pod {
	return slices.DeleteFunc(t.everyPod(), func(p *Pod) bool {
		return !slices.ContainsFunc(p.Addresses, func(a netip.Addr) bool {
			return slices.ContainsFunc(blocks, func(b Block) bool { return b.Contains(a) })
		})
	})
}

// ids returns the names of pods, sorted and without duplicates.
func ids(pods []*Pod) []ID {
	all := make([]ID, len(pods))
	for i, p := range pods {
		all[i] = p.ID
	}
	slices.SortFunc(all, ID.Compare)
	return slices.Compact(all)
}

// peers returns the peers of a rule, nil for all, and the pods among them.
func (t translation) peers(rule OutlineRule) (*Peers, []*Pod) {
	if rule.Everyone {
		return nil, nil
	}
	var pods []*Pod
	var namespaces []string
	for _, s := range rule.Selectors {
		pods = append(pods, t.selected(s)...)
		if s.Pods.Empty() {
			namespaces = append(namespaces, t.namespacesOf(s)...)
		}
	}
	slices.Sort(namespaces)
	return &Peers{Pods: ids(pods), Blocks: rule.Blocks, Namespaces: slices.Compact(namespaces)}, pods
}

// namespacesOf returns the namespaces in which a selector selects pods.
func (t translation) namespacesOf(s Selector) []string {
	if s.Namespaces == nil {
		return []string{s.Namespace}
	}
	var found []string
	for _, ns := range t.namespaces {
		if s.Namespaces.Matches(labels.Set(ns.Labels)) {
			found = append(found, ns.Name)
		}
	}
	return found
}

// resolve returns ports with the numbers of named ones; destinations are the pods that may have them.
func resolve(ports []OutlinePort, destinations []*Pod) []Port {
	if ports == nil {
		return nil
	}
	out := []Port{}
	for _, p := range ports {
		if p.Name != "" {
			out = append(out, named(p.Protocol, p.Name, destinations)...)
		} else {
			out = append(out, Port{Protocol: p.Protocol, First: p.First, Last: p.Last})
		}
	}
	return out
}

// named returns a port for each number that a name has among pods. Pods may use one name for different numbers, and one pod may
// use it in several containers.
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
