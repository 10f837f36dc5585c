package northbound_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// chance makes random policies of few words, so that they often meet.
type chance struct{ *rand.Rand }

func pick[T any](c chance, of ...T) T { return of[c.IntN(len(of))] }

func (c chance) selector() *metav1.LabelSelector {
	switch c.IntN(4) {
	case 0:
		return &metav1.LabelSelector{}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"web"}}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(c, "web", "db")}}
}

func (c chance) peer() networkingv1.NetworkPolicyPeer {
	switch c.IntN(5) {
	case 0:
		return networkingv1.NetworkPolicyPeer{PodSelector: c.selector()}
	case 1:
		return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick(c, "a", "b")}}}
	case 2:
		return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: c.selector()}
	case 3:
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: pick(c, "0.0.0.0/0", "10.128.0.0/14"), Except: pick(c, nil, []string{"10.128.2.4/31", "198.51.100.0/25"}[:1])}}
	}
	return networkingv1.NetworkPolicyPeer{IPBlock: pick(c, &networkingv1.IPBlock{CIDR: "fd01::/48", Except: []string{"fd01:0:0:2::/64"}},
		&networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"10.129.7.0/24", "198.51.100.0/25"}}, &networkingv1.IPBlock{CIDR: "::/0"})}
}

func (c chance) ports() []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for range c.IntN(3) {
		p := networkingv1.NetworkPolicyPort{Protocol: pick(c, nil, new(corev1.ProtocolTCP), new(corev1.ProtocolUDP), new(corev1.ProtocolSCTP))}
		switch c.IntN(4) {
		case 0:
			p.Port = new(intstr.FromString("web"))
		case 1:
			p.Port, p.EndPort = new(intstr.FromInt32(80)), new(int32(8079))
		case 2:
			p.Port = new(intstr.FromInt32(8080))
		}
		out = append(out, p)
	}
	return out
}

func (c chance) policy(n int) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: pick(c, "one", "two"), Name: fmt.Sprintf("p%d", n)}}
	p.Spec.PodSelector = *c.selector()
	p.Spec.PolicyTypes = pick(c, nil, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		[]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress})
	for range c.IntN(3) {
		rule := networkingv1.NetworkPolicyIngressRule{Ports: c.ports()}
		for range c.IntN(3) {
			rule.From = append(rule.From, c.peer())
		}
		p.Spec.Ingress = append(p.Spec.Ingress, rule)
	}
	for range c.IntN(3) {
		rule := networkingv1.NetworkPolicyEgressRule{Ports: c.ports()}
		for range c.IntN(3) {
			rule.To = append(rule.To, c.peer())
		}
		p.Spec.Egress = append(p.Spec.Egress, rule)
	}
	return p
}

func policyCluster() northbound.Input {
	in := cluster()
	in.Pods = nil
	for i, node := range []northbound.Node{node1, node2} {
		for j, namespace := range []string{"one", "two"} {
			for k, app := range []string{"web", "db"} {
				p := pod(node, namespace, fmt.Sprintf("%s%d", app, i), 1+2*j+k, map[string]string{"app": app})
				p.Ports = []netpolicy.NamedPort{{Name: "web", Protocol: corev1.ProtocolTCP, Port: uint16(8080 + i*k)}, {Name: "web", Protocol: corev1.ProtocolUDP, Port: 80}}
				in.Pods = append(in.Pods, p)
			}
		}
	}
	return in
}

// TestPoliciesHaveTheSemanticsOfTheAPI compares what ovn-trace does with packets under random policies with netpolicy.Allowed.
func TestPoliciesHaveTheSemanticsOfTheAPI(t *testing.T) {
	w := start(t, policyCluster())
	c := chance{rand.New(rand.NewPCG(7, 8))}
	allowed, denied := 0, 0
	for round := range 8 {
		w.in.Policies = nil
		for n := range 1 + c.IntN(5) {
			w.in.Policies = append(w.in.Policies, c.policy(n))
		}
		w.fill()
		plain := netpolicy.Input{Namespaces: w.in.Namespaces, Policies: w.in.Policies}
		for _, p := range w.in.Pods {
			plain.Pods = append(plain.Pods, p.Pod)
		}
		result := netpolicy.Translate(plain)
		for range 40 {
			want, got, what := w.connection(c, result)
			if want != got {
				t.Errorf("round %d: %s: allowed is %t, the API allows %t", round, what, got, want)
			}
			if want {
				allowed++
			} else {
				denied++
			}
		}
		if t.Failed() {
			for _, p := range w.in.Policies {
				t.Logf("%+v", p)
			}
			t.Fatal(w.Northbound("--columns=direction,priority,match,action", "list", "ACL"))
		}
	}
	if allowed < 40 || denied < 40 {
		t.Errorf("%d connections were allowed and %d denied: the policies decide too little", allowed, denied)
	}
}

// connection tries a random connection from a pod to a pod, or to an address outside.
func (w *world) connection(c chance, r netpolicy.Result) (want, got bool, what string) {
	like := pick(c, netip.IPv4Unspecified(), netip.IPv6Unspecified())
	from := pick(c, w.in.Pods...)
	p := w.from(from, like)
	p.protocol, p.port = pick(c, "tcp", "udp", "sctp"), pick(c, 80, 443, 8080, 8081)
	connection := netpolicy.Connection{From: netpolicy.End{Pod: from.ID, Address: p.src}, Protocol: corev1.Protocol(strings.ToUpper(p.protocol)), Port: uint16(p.port)}
	exit := "k8s-" + from.Node
	if c.IntN(4) == 0 {
		p.dst = pick(c, netip.MustParseAddr("198.51.100.7"), netip.MustParseAddr("203.0.113.7"))
		if like.Is6() {
			p.dst = netip.MustParseAddr("2001:db8::7")
		}
	} else {
		others := slices.DeleteFunc(slices.Clone(w.in.Pods), func(o northbound.Pod) bool { return o.ID == from.ID })
		to := pick(c, others...)
		p.dst, exit, connection.To.Pod = address(to, like), topology.PodPort(to.Namespace, to.Name), to.ID
	}
	connection.To.Address = p.dst
	outputs, full := w.send(p)
	return r.Allowed(connection).Allowed, slices.Equal(outputs, []string{exit}), fmt.Sprintf("%s to %s %s %s port %d\n%s", from.ID, connection.To.Pod, p.dst, p.protocol, p.port, full)
}

// TestPoliciesForSCTPAllowNoTCP: a pod whose policy allows SCTP is isolated from everything else, also where the port is the same and where the kernel has no SCTP.
func TestPoliciesForSCTPAllowNoTCP(t *testing.T) {
	in := cluster()
	client, server := in.Pods[2], in.Pods[0] // of other namespaces
	in.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: server.Namespace, Name: "sctp"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolSCTP), Port: new(intstr.FromInt32(81))}}}},
	}}}
	w := start(t, in)
	for _, tt := range []struct {
		reason, protocol string
		port             int
		allowed          bool
	}{
		{"what the policy allows", "sctp", 81, true},
		{"the same port, by TCP", "tcp", 81, false},
		{"the same port, by UDP", "udp", 81, false},
		{"another port, by TCP", "tcp", 80, false},
		{"another port", "sctp", 80, false},
	} {
		p := w.from(client, netip.IPv4Unspecified())
		p.dst, p.protocol, p.port = server.Addresses[0], tt.protocol, tt.port
		outputs, full := w.send(p)
		if got := slices.Equal(outputs, []string{topology.PodPort(server.Namespace, server.Name)}); got != tt.allowed {
			t.Errorf("%s: allowed is %t\n%s", tt.reason, got, full)
		}
	}
}

func TestNodesReachTheirOwnPodsUnderEveryPolicy(t *testing.T) {
	in := cluster()
	in.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}}}}
	w := start(t, in)
	for _, tt := range []struct {
		reason string
		node   northbound.Node
		want   string
	}{{"the pod's own node probes it", node1, "one_a"}, {"another node is a peer like others", node2, ""}} {
		management := topology.ManagementAddress(tt.node.Blocks[0]).Addr()
		outputs, full := w.send(packet{from: topology.ManagementPort(tt.node.Name), node: tt.node.Name, mac: topology.MAC(management).String(),
			src: management, dst: in.Pods[0].Addresses[0], protocol: "tcp", port: 80})
		if got := strings.Join(outputs, " "); got != tt.want {
			t.Errorf("%s: the packet leaves by %q\n%s", tt.reason, got, full)
		}
	}
}

// TestRowsOfPoliciesAreShared: 200 policies, each for one of 200 pods, with 200 pods as peers.
func TestRowsOfPoliciesAreShared(t *testing.T) {
	in := cluster()
	in.Pods = nil
	for n := range 200 {
		labels := map[string]string{"n": fmt.Sprint(n), "app": "web"}
		in.Pods = append(in.Pods, pod(node1, "one", fmt.Sprintf("a%d", n), 1+n, labels))
		in.Policies = append(in.Policies, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: fmt.Sprintf("p%d", n)},
			Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"n": fmt.Sprint(n)}},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}}}}})
	}
	rows, _ := northbound.Rows(in)
	if len(rows) > 2000 {
		t.Errorf("%d rows", len(rows))
	}
}
