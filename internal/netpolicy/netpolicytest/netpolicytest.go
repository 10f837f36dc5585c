// Package netpolicytest is Kubernetes' own table of what NetworkPolicies mean, for tests of everything that enforces them.
//
// The table is about a model: namespaces x, y and z with the label ns, and in each the pods a, b and c with the label pod, which serve port 80 as
// "http" and 81 as "admin". Pod c gives these names to each other's numbers. The address of a pod is 10.N.P.5, with the numbers of the
// namespace and of the pod, which begin at 0.
package netpolicytest

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Namespaces and Pods are the names of the model.
var (
	Namespaces = []string{"x", "y", "z"}
	Pods       = []string{"a", "b", "c"}
)

// Row is what some policies of namespace x mean.
type Row struct {
	Why      string
	Policies []networkingv1.NetworkPolicySpec
	// Allowed and Denied are connections by TCP, "from to port"; an end is namespace/pod, or an address outside.
	Allowed, Denied []string
}

// Match is a selector of labels, each "key=value".
func Match(pairs ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for _, p := range pairs {
		key, value, _ := strings.Cut(p, "=")
		if s.MatchLabels == nil {
			s.MatchLabels = map[string]string{}
		}
		s.MatchLabels[key] = value
	}
	return s
}

// Port is a port by its number or name.
func Port(p any) networkingv1.NetworkPolicyPort {
	v := intstr.FromString(fmt.Sprint(p))
	if n, ok := p.(int); ok {
		v = intstr.FromInt(n)
	}
	return networkingv1.NetworkPolicyPort{Port: &v}
}

// Range is a range of ports.
func Range(first int, last int32) networkingv1.NetworkPolicyPort {
	p := Port(first)
	p.EndPort = &last
	return p
}

// Of is every port of a protocol.
func Of(protocol corev1.Protocol) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol}
}

// Table returns the table.
func Table() []Row {
	type peers = []networkingv1.NetworkPolicyPeer
	type ports = []networkingv1.NetworkPolicyPort
	ingress := func(pod *metav1.LabelSelector, from peers, at ports) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{PodSelector: *pod, PolicyTypes: []networkingv1.PolicyType{"Ingress"}, Ingress: []networkingv1.NetworkPolicyIngressRule{{From: from, Ports: at}}}
	}
	egress := func(pod *metav1.LabelSelector, to peers, at ports) networkingv1.NetworkPolicySpec {
		return networkingv1.NetworkPolicySpec{PodSelector: *pod, PolicyTypes: []networkingv1.PolicyType{"Egress"}, Egress: []networkingv1.NetworkPolicyEgressRule{{To: to, Ports: at}}}
	}
	block := func(cidr string, except ...string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
	}
	return []Row{
		{"no policy allows everything", nil, []string{"x/a x/b 80", "y/a x/b 81", "192.0.2.1 x/a 80", "x/a 192.0.2.1 443"}, nil},
		{"a policy without types or rules denies ingress", []networkingv1.NetworkPolicySpec{{}},
			[]string{"x/a y/a 80", "x/a 192.0.2.1 80", "y/a y/b 80", "x/a x/a 80"}, []string{"x/a x/b 80", "y/a x/a 80", "192.0.2.1 x/a 80"}},
		{"egress without rules denies egress", []networkingv1.NetworkPolicySpec{{PolicyTypes: []networkingv1.PolicyType{"Egress"}}},
			[]string{"y/a x/a 80", "192.0.2.1 x/a 80"}, []string{"x/a x/b 80", "x/a y/a 80", "x/a 192.0.2.1 80"}},
		{"egress rules without types isolate both directions", []networkingv1.NetworkPolicySpec{{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}},
			[]string{"x/a y/a 80"}, []string{"y/a x/a 80"}},
		{"an empty rule allows everything", []networkingv1.NetworkPolicySpec{ingress(Match(), nil, nil)}, []string{"y/a x/a 80", "192.0.2.1 x/a 81"}, nil},
		{"pods of the own namespace", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{PodSelector: Match("pod=b")}}, nil)},
			[]string{"x/b x/a 80", "y/a x/b 80"}, []string{"x/c x/a 80", "y/b x/a 80"}},
		{"all pods of namespaces", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{NamespaceSelector: Match("ns=y")}}, nil)},
			[]string{"y/a x/a 80", "y/c x/a 80"}, []string{"x/b x/a 80", "z/a x/a 80"}},
		{"an empty selector of namespaces is every pod, and no address", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{NamespaceSelector: Match()}}, nil)},
			[]string{"y/a x/a 80", "x/b x/a 80"}, []string{"192.0.2.1 x/a 80"}},
		{"pods of namespaces: both must match", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{NamespaceSelector: Match("ns=y"), PodSelector: Match("pod=b")}}, nil)},
			[]string{"y/b x/a 80"}, []string{"y/a x/a 80", "x/b x/a 80"}},
		{"two peers: either matches", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{NamespaceSelector: Match("ns=y")}, {PodSelector: Match("pod=b")}}, nil)},
			[]string{"y/a x/a 80", "x/b x/a 80"}, []string{"z/b x/a 80", "x/c x/a 80"}},
		{"expressions", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "ns", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"x"}}}}}}, nil)},
			[]string{"y/a x/a 80", "z/a x/a 80"}, []string{"x/b x/a 80"}},
		{"a port", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), nil, ports{Port(80)})}, []string{"y/a x/a 80"}, []string{"y/a x/a 81"}},
		{"a named port is the number that each pod gives it", []networkingv1.NetworkPolicySpec{ingress(Match(), nil, ports{Port("http")})},
			[]string{"y/a x/a 80", "y/a x/c 81"}, []string{"y/a x/a 81", "y/a x/c 80"}},
		{"a named port of egress is the peer's", []networkingv1.NetworkPolicySpec{egress(Match("pod=a"), nil, ports{Port("http")})},
			[]string{"x/a y/b 80", "x/a y/c 81"}, []string{"x/a y/b 81", "x/a y/c 80", "x/a 192.0.2.1 80"}},
		{"a named port that no pod has matches nothing", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), nil, ports{Port("nosuch")})}, nil, []string{"y/a x/a 80"}},
		{"a range of ports", []networkingv1.NetworkPolicySpec{egress(Match("pod=a"), nil, ports{Range(81, 90)})}, []string{"x/a y/a 81", "x/a y/a 90"}, []string{"x/a y/a 80", "x/a y/a 91"}},
		{"a protocol alone is all of its ports", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), nil, ports{Of(corev1.ProtocolTCP)})}, []string{"y/a x/a 80", "y/a x/a 65535"}, nil},
		{"another protocol", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), nil, ports{Of(corev1.ProtocolUDP)})}, nil, []string{"y/a x/a 80"}},
		{"a range of addresses", []networkingv1.NetworkPolicySpec{egress(Match("pod=a"), peers{block("192.0.2.0/24")}, nil)}, []string{"x/a 192.0.2.1 80"}, []string{"x/a 198.51.100.1 80", "x/a y/a 80"}},
		{"a range of addresses also matches pods", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{block("10.1.0.0/16")}, nil)}, []string{"y/a x/a 80"}, []string{"z/a x/a 80"}},
		{"exceptions", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{block("10.0.0.0/8", "10.1.0.0/24", "10.2.0.0/16")}, nil)}, []string{"x/b x/a 80", "y/b x/a 80"}, []string{"y/a x/a 80", "z/a x/a 80"}},
		{"an exception of one peer is not one of another", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{block("10.0.0.0/8", "10.1.0.0/24"), {NamespaceSelector: Match("ns=y")}}, nil)}, []string{"y/a x/a 80"}, []string{"192.0.2.1 x/a 80"}},
		{"policies add up", []networkingv1.NetworkPolicySpec{ingress(Match("pod=a"), peers{{PodSelector: Match("pod=b")}}, nil), ingress(Match(), peers{{NamespaceSelector: Match("ns=y")}}, ports{Port(80)})},
			[]string{"x/b x/a 81", "y/a x/a 80"}, []string{"x/b x/c 80", "y/a x/a 81"}},
		{"both ends must allow", []networkingv1.NetworkPolicySpec{egress(Match("pod=a"), peers{{PodSelector: Match("pod=b")}}, nil), ingress(Match("pod=b"), peers{{PodSelector: Match("pod=c")}}, nil)},
			[]string{"x/c x/b 80"}, []string{"x/a x/b 80", "x/a x/c 80"}},
		{"peers and ports of one rule belong together", []networkingv1.NetworkPolicySpec{{PodSelector: *Match("pod=a"), Ingress: []networkingv1.NetworkPolicyIngressRule{
			{From: peers{{PodSelector: Match("pod=b")}}, Ports: ports{Port(80)}}, {From: peers{{PodSelector: Match("pod=c")}}, Ports: ports{Port(81)}}}}},
			[]string{"x/b x/a 80", "x/c x/a 81"}, []string{"x/b x/a 81", "x/c x/a 80"}},
	}
}
