package flows_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	sdn "github.com/cluster-network-operator/cno/providers/openshiftsdn/flows"
)

func selector(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func policy(namespace, name string, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

func tcp(port intstr.IntOrString, end ...int32) networkingv1.NetworkPolicyPort {
	p := networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: &port}
	if len(end) > 0 {
		p.EndPort = &end[0]
	}
	return p
}

// policies have every kind of peer and port, in both directions.
func policies() []*networkingv1.NetworkPolicy {
	ingress, egress := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, []networkingv1.PolicyType{networkingv1.PolicyTypeEgress}
	type (
		peers = []networkingv1.NetworkPolicyPeer
		ports = []networkingv1.NetworkPolicyPort
		in    = []networkingv1.NetworkPolicyIngressRule
		out   = []networkingv1.NetworkPolicyEgressRule
	)
	everything := metav1.LabelSelector{}
	return []*networkingv1.NetworkPolicy{
		policy("a", "web", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "web"), PolicyTypes: ingress, Ingress: in{
			{From: peers{{PodSelector: selector("app", "client")}}, Ports: ports{tcp(intstr.FromInt32(80))}},
			{From: peers{{NamespaceSelector: selector("team", "b")}}, Ports: ports{tcp(intstr.FromInt32(6000), 6100)}},
		}}),
		policy("a", "web-too", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "web"), PolicyTypes: ingress, Ingress: in{
			{Ports: ports{tcp(intstr.FromString("named"))}},
			{From: peers{{IPBlock: &networkingv1.IPBlock{CIDR: "10.128.0.0/14", Except: []string{"10.128.4.0/25", "10.128.2.0/26"}}}}, Ports: ports{{Protocol: new(corev1.ProtocolUDP)}}},
			{From: peers{{NamespaceSelector: selector("team", "default")}}},
		}}),
		policy("b", "deny", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "web"), PolicyTypes: ingress}),
		policy("b", "all", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "client"), PolicyTypes: ingress, Ingress: in{{}}}),
		policy("b", "out", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "web"), PolicyTypes: egress, Egress: out{{}}}),
		policy("a", "out", networkingv1.NetworkPolicySpec{PodSelector: *selector("app", "client"), PolicyTypes: egress, Egress: out{
			{To: peers{{NamespaceSelector: selector("team", "a"), PodSelector: selector("app", "web")}}, Ports: ports{tcp(intstr.FromString("named")), tcp(intstr.FromInt32(80))}},
			{To: peers{{IPBlock: &networkingv1.IPBlock{CIDR: "198.51.100.0/24", Except: []string{"198.51.100.128/25"}}}}},
			{Ports: ports{{Protocol: new(corev1.ProtocolUDP), Port: new(intstr.FromInt32(53))}}},
		}}),
		policy("default", "isolated", networkingv1.NetworkPolicySpec{PodSelector: everything, PolicyTypes: append(ingress, egress...), Egress: out{
			{To: peers{{IPBlock: &networkingv1.IPBlock{CIDR: "10.128.0.0/14"}}}, Ports: ports{tcp(intstr.FromString("named"))}},
		}, Ingress: in{{From: peers{{PodSelector: &everything}}}}}),
	}
}

// policyCluster has pods of three namespaces on both nodes, and the policies; what it returns is the oracle.
func policyCluster(inputs []*sdn.Input) (netpolicy.Result, []sdn.Pod) {
	in := netpolicy.Input{Policies: policies(), Namespaces: []netpolicy.Namespace{
		{Name: "a", Labels: map[string]string{"team": "a"}}, {Name: "b", Labels: map[string]string{"team": "b"}}, {Name: "default", Labels: map[string]string{"team": "default"}},
	}}
	vnids := map[string]uint32{"a": 10, "b": 11, "default": 0}
	var all []sdn.Pod
	for n, input := range inputs {
		for j, ns := range []string{"a", "a", "b", "b", "default"} {
			b := input.Subnet.Addr().As4()
			b[3] = byte(5 + 100*(j%2) + j)
			p := sdn.Pod{ID: netpolicy.ID{Namespace: ns, Name: fmt.Sprintf("p%d-%d", n, j)}, Address: netip.AddrFrom4(b), Port: uint32(10 + j), VNID: vnids[ns]}
			p.MAC = sdn.PodMAC(p.Address)
			all = append(all, p)
			input.Pods = append(input.Pods, p)
			in.Pods = append(in.Pods, netpolicy.Pod{
				ID: p.ID, Addresses: []netip.Addr{p.Address}, Labels: map[string]string{"app": []string{"web", "client"}[j%2]},
				Ports: []netpolicy.NamedPort{{Name: "named", Protocol: corev1.ProtocolTCP, Port: uint16(8080 + n)}},
			})
		}
	}
	result := netpolicy.Translate(in)
	for _, input := range inputs {
		input.Policies, input.VNIDs = result.Policies, vnids
		for _, p := range in.Pods {
			input.Addresses[p.ID] = p.Addresses
		}
	}
	return result, all
}

// TestPoliciesAreEnforced compares what the flows do with every kind of connection with the rules: between all pods of two nodes, directly
// and by a Service, and to the outside.
func TestPoliciesAreEnforced(t *testing.T) {
	v := newSwitch(t)
	c := v.cluster(sdn.NetworkPolicy)
	rules, pods := policyCluster([]*sdn.Input{&c[0].input, &c[1].input})
	c.apply()
	allowed, denied := 0, 0
	check := func(why string, want, got bool, reason string) {
		t.Helper()
		if want != got {
			t.Errorf("%s: passes %t, the rules allow %t: %s", why, got, want, reason)
		}
		if want {
			allowed++
		} else {
			denied++
			if !strings.Contains(reason, "NetworkPolicy ") {
				t.Errorf("%s: the reason does not name a policy: %s", why, reason)
			}
		}
	}
	protocols := map[string]corev1.Protocol{"tcp": corev1.ProtocolTCP, "udp": corev1.ProtocolUDP}
	for i, from := range pods {
		for k, to := range pods {
			for j, l4 := range []string{"tcp 80", "tcp 6050", "tcp 8080", "tcp 8081", "tcp 81", "udp 53", "udp 54"} {
				if from.ID == to.ID || (i+k+j)%3 == 0 && j > 2 {
					continue // enough of the rest remains
				}
				var protocol string
				var port uint16
				if _, err := fmt.Sscan(l4, &protocol, &port); err != nil {
					t.Fatal(err)
				}
				want := rules.Allowed(netpolicy.Connection{
					From: netpolicy.End{Pod: from.ID, Address: from.Address}, To: netpolicy.End{Pod: to.ID, Address: to.Address}, Protocol: protocols[protocol], Port: port,
				}).Allowed
				got, reason := c.delivered(from, to, fmt.Sprintf("%s,%s_dst=%d", protocol, protocol, port), (i+k)%4 == 0)
				check(fmt.Sprintf("%s to %s %s", from.ID, to.ID, l4), want, got, reason)
			}
		}
	}
	for _, from := range c[0].input.Pods {
		for _, to := range []string{"198.51.100.1", "198.51.100.129", "203.0.113.1"} {
			a := netip.MustParseAddr(to)
			want := rules.Allowed(netpolicy.Connection{From: netpolicy.End{Pod: from.ID, Address: from.Address}, To: netpolicy.End{Address: a}, Protocol: corev1.ProtocolTCP, Port: 443}).Allowed
			o := c[0].send(fmt.Sprintf("in_port=%d,tcp,nw_src=%s,nw_dst=%s,tp_dst=443", from.Port, from.Address, to))
			check(fmt.Sprintf("%s to %s", from.ID, to), want, o.kernel, o.reason)
		}
	}
	if allowed < 50 || denied < 50 {
		t.Errorf("only %d connections are allowed and %d denied", allowed, denied)
	}
	t.Run("clients outside and other nodes", func(t *testing.T) {
		web := pods[0] // of namespace a: its policies admit team default, and nodes are of it only if they are named
		for _, row := range []struct {
			why, packet string
			passes      bool
		}{
			{"the own node", "in_port=2,tcp,nw_src=10.128.2.1,tp_dst=9", true},
			{"a client outside that is masqueraded by the own node", "in_port=2,tcp,nw_src=10.128.2.2,tp_dst=9", false},
			{"a client outside that keeps its address", "in_port=2,tcp,nw_src=203.0.113.1,tp_dst=9", false},
			{"another node, which no rule names, with VNID 0", "in_port=1,tun_src=192.0.2.2,tun_id=0,tcp,nw_src=10.128.4.1,tp_dst=9", false},
			{"an answer", "in_port=1,ct_state=trk|est|rpl,tun_src=192.0.2.2,tun_id=11,tcp,nw_src=10.128.4.107,tp_dst=9", true},
		} {
			o := c[0].send(row.packet + ",nw_dst=" + web.Address.String())
			if got := len(o.ports) == 1; got != row.passes {
				t.Errorf("%s: passes %t: %s", row.why, got, o.reason)
			}
		}
	})
	t.Run("later fragments pass where a port of their protocol does", func(t *testing.T) {
		web := pods[0]
		for _, row := range []struct {
			why, packet string
			port        uint32
			passes      bool
		}{
			{"a client of TCP 80", "tcp,nw_frag=later,nw_src=" + pods[1].Address.String(), pods[1].Port, true},
			{"a client of UDP, by its address", "udp,nw_frag=later,nw_src=" + pods[1].Address.String(), pods[1].Port, true},
			{"the first fragment to another port", "tcp,nw_frag=first,tp_dst=81,nw_src=" + pods[1].Address.String(), pods[1].Port, false},
			{"a stranger's", "udp,nw_frag=later,nw_src=203.0.113.1", sdn.NodePort, false},
		} {
			o := c[0].send(fmt.Sprintf("in_port=%d,ct_state=trk|new,%s,nw_dst=%s", row.port, row.packet, web.Address))
			if got := len(o.ports) == 1; got != row.passes {
				t.Errorf("%s: passes %t: %s", row.why, got, o.reason)
			}
		}
	})
}

// TestOrderMakesNoDifference: any order of objects gives the same flows.
func TestOrderMakesNoDifference(t *testing.T) {
	in := full(sdn.NetworkPolicy)
	first := desired(t, in)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		shuffle(random, in.Pods)
		shuffle(random, in.Peers)
		shuffle(random, in.Policies)
		shuffle(random, in.EgressIPs)
		shuffle(random, in.Firewalls)
		shuffle(random, in.Multicast)
		shuffle(random, in.ClusterNetworks)
		for _, p := range in.Policies {
			for _, d := range []*netpolicy.Direction{p.Ingress, p.Egress} {
				if d == nil {
					continue
				}
				for _, r := range d.Rules {
					if r.Peers != nil {
						shuffle(random, r.Peers.Blocks)
					}
					shuffle(random, r.Ports)
				}
			}
		}
		if again := desired(t, in); again.Flows.String() != first.Flows.String() {
			t.Fatal("another order of objects gives other flows: ", cmp.Diff(first.Flows.Explained(), again.Flows.Explained()))
		}
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestFlowsGrowWithPodsPlusPeers: a policy of 200 pods and 200 peers with two ports, and one pod more.
func TestFlowsGrowWithPodsPlusPeers(t *testing.T) {
	count := func(pods, peers int) int {
		in := nodeInput(1, sdn.NetworkPolicy)
		p := netpolicy.Policy{ID: netpolicy.ID{Namespace: "a", Name: "large"}, Ingress: &netpolicy.Direction{Rules: []netpolicy.Rule{{
			Peers: &netpolicy.Peers{}, Ports: []netpolicy.Port{{Protocol: corev1.ProtocolTCP, First: 80, Last: 80}, {Protocol: corev1.ProtocolTCP, First: 443, Last: 443}},
		}}}}
		for i := range pods {
			id := netpolicy.ID{Namespace: "a", Name: fmt.Sprintf("pod-%03d", i)}
			in.Pods = append(in.Pods, sdn.Pod{ID: id, Address: netip.AddrFrom4([4]byte{10, 128, 2, byte(3 + i)}), Port: uint32(10 + i), VNID: 10})
			p.Pods = append(p.Pods, id)
		}
		for i := range peers {
			id := netpolicy.ID{Namespace: "b", Name: fmt.Sprintf("peer-%03d", i)}
			in.Addresses[id] = []netip.Addr{netip.AddrFrom4([4]byte{10, 128, 4, byte(3 + i)})}
			p.Ingress.Rules[0].Peers.Pods = append(p.Ingress.Rules[0].Peers.Pods, id)
		}
		without := desired(t, in).Flows.Len()
		in.Policies = []netpolicy.Policy{p}
		return desired(t, in).Flows.Len() - without
	}
	large, more := count(200, 200), count(200, 201)
	if limit := 3*(200+200) + 16; large > limit {
		t.Errorf("%d flows, at most %d are expected", large, limit)
	}
	if more-large > 8 {
		t.Errorf("one peer more makes %d flows more", more-large)
	}
}
