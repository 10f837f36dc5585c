package netpolicy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/netpolicy/netpolicytest"
)

var match, port, portRange, of = netpolicytest.Match, netpolicytest.Port, netpolicytest.Range, netpolicytest.Of

func policy(name string, spec networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: spec}
}

// cluster is the model of the table of meanings.
func cluster(policies ...*networkingv1.NetworkPolicy) Input {
	in := Input{Policies: policies}
	for i, ns := range netpolicytest.Namespaces {
		in.Namespaces = append(in.Namespaces, Namespace{ns, map[string]string{"ns": ns, "kubernetes.io/metadata.name": ns}})
		for j, name := range netpolicytest.Pods {
			http, admin := uint16(80), uint16(81)
			if name == "c" {
				http, admin = admin, http
			}
			in.Pods = append(in.Pods, Pod{ID: ID{ns, name}, Labels: map[string]string{"pod": name}, Addresses: []netip.Addr{address(i, j)},
				Ports: []NamedPort{{"http", corev1.ProtocolTCP, http}, {"admin", corev1.ProtocolTCP, admin}}})
		}
	}
	return in
}

func address(i, j int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i), byte(j), 5}) }

// end is a pod of the cluster, "x/a", or an address.
func end(t testing.TB, in Input, name string) End {
	t.Helper()
	for _, p := range in.Pods {
		if p.String() == name {
			return End{p.ID, p.Addresses[0]}
		}
	}
	a, err := netip.ParseAddr(name)
	if err != nil {
		t.Fatal(err)
	}
	return End{Address: a}
}

func TestSemanticsOfKubernetes(t *testing.T) {
	for _, row := range netpolicytest.Table() {
		t.Run(row.Why, func(t *testing.T) {
			in := cluster()
			for i, spec := range row.Policies {
				in.Policies = append(in.Policies, policy(fmt.Sprint(i), spec))
			}
			r := Translate(in)
			if len(r.Problems) > 0 {
				t.Error(r.Problems)
			}
			for want, all := range map[bool][]string{true: row.Allowed, false: row.Denied} {
				for _, one := range all {
					if c := connection(t, in, one); r.Allowed(c).Allowed != want {
						t.Errorf("%s: allowed is %v", one, !want)
					}
				}
			}
		})
	}
}

func connection(t testing.TB, in Input, text string) Connection {
	t.Helper()
	fields := strings.Fields(text)
	c := Connection{From: end(t, in, fields[0]), To: end(t, in, fields[1]), Protocol: corev1.ProtocolTCP}
	if _, err := fmt.Sscan(fields[2], &c.Port); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHostNetworkAndTerminatedPodsAreIgnored(t *testing.T) {
	for why, exclude := range map[string]func(*Pod){"host network": func(p *Pod) { p.HostNetwork = true }, "ended": func(p *Pod) { p.Ended = true }} {
		in := cluster(policy("all", networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: match()}}}}}))
		exclude(&in.Pods[0]) // x/a
		r := Translate(in)
		if len(r.Policies[0].Pods) != 2 || len(r.Policies[0].Ingress.Rules[0].Peers.Pods) != 8 {
			t.Errorf("%s: %+v", why, r.Policies[0])
		}
	}
}

func TestUnsupportedRulesAllowNothing(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	for _, row := range []struct {
		why   string
		spec  networkingv1.NetworkPolicyIngressRule
		field string
	}{
		{"a selector", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{PodSelector: bad}}}, "spec.ingress[0].from[0].podSelector"},
		{"a selector of namespaces", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: bad}}}, "spec.ingress[0].from[0].namespaceSelector"},
		{"an empty peer", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{}}}, "spec.ingress[0].from[0]"},
		{"a mixed peer", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}, PodSelector: match()}}}, "spec.ingress[0].from[0]"},
		{"a range of addresses", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0"}}}}, "spec.ingress[0].from[0].ipBlock.cidr"},
		{"an exception: the range would allow too much", networkingv1.NetworkPolicyIngressRule{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"x"}}}}}, "spec.ingress[0].from[0].ipBlock.except[0]"},
		{"a range of ports", networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{portRange(80, 70)}}, "spec.ingress[0].ports[0]"},
		{"a number", networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{port(70000)}}, "spec.ingress[0].ports[0]"},
		{"the end of a named port", networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{portRange(0, 70), {Port: port("http").Port, EndPort: new(int32(90))}}}, "spec.ingress[0].ports[1].endPort"},
		{"an end without a port", networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{{EndPort: new(int32(90))}}}, "spec.ingress[0].ports[0].endPort"},
	} {
		in := cluster(policy("p", networkingv1.NetworkPolicySpec{PodSelector: *match("pod=a"), Ingress: []networkingv1.NetworkPolicyIngressRule{row.spec}}))
		r := Translate(in)
		found := false
		for _, p := range r.Problems {
			found = found || p.Field == row.field && p.Policy == ID{"x", "p"}
		}
		if !found {
			t.Errorf("%s: %+v", row.why, r.Problems)
		}
		if r.Allowed(connection(t, in, "y/a x/a 80")).Allowed {
			t.Errorf("%s: it allows", row.why)
		}
	}
}

func TestADecisionNamesItsPolicyAndRule(t *testing.T) {
	in := cluster(
		policy("deny", networkingv1.NetworkPolicySpec{}),
		policy("web", networkingv1.NetworkPolicySpec{PodSelector: *match("pod=a"), Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: match("pod=c")}}}, {Ports: []networkingv1.NetworkPolicyPort{port(80)}}}}),
	)
	r := Translate(in)
	v := r.Allowed(connection(t, in, "y/a x/a 80"))
	if !v.Allowed || v.Ingress.By != (ID{"x", "web"}) || v.Ingress.Rule != 1 || len(v.Ingress.Policies) != 2 || len(v.Egress.Policies) != 0 {
		t.Errorf("%+v", v)
	}
	if v := r.Allowed(connection(t, in, "y/a x/b 80")); v.Allowed || v.Ingress.By != (ID{}) || len(v.Ingress.Policies) != 1 {
		t.Errorf("%+v", v)
	}
}

// oracle decides by the objects themselves, rule by rule, without anything of Translate.
func oracle(in Input, c Connection) bool {
	pod := func(id ID) *Pod {
		for i := range in.Pods {
			if in.Pods[i].ID == id {
				return &in.Pods[i]
			}
		}
		return nil
	}
	namespace := func(name string) labels.Set {
		for _, n := range in.Namespaces {
			if n.Name == name {
				return n.Labels
			}
		}
		return nil
	}
	selects := func(s *metav1.LabelSelector, set labels.Set) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		return err == nil && selector.Matches(set)
	}
	peer := func(own string, p networkingv1.NetworkPolicyPeer, e End) bool {
		if p.IPBlock != nil {
			for _, except := range p.IPBlock.Except {
				if netip.MustParsePrefix(except).Contains(e.Address) {
					return false
				}
			}
			return netip.MustParsePrefix(p.IPBlock.CIDR).Contains(e.Address)
		}
		other := pod(e.Pod)
		if other == nil || p.NamespaceSelector == nil && other.Namespace != own || p.NamespaceSelector != nil && !selects(p.NamespaceSelector, namespace(other.Namespace)) {
			return false
		}
		return p.PodSelector == nil || selects(p.PodSelector, other.Labels)
	}
	ports := func(all []networkingv1.NetworkPolicyPort) bool {
		for _, p := range all {
			protocol := corev1.ProtocolTCP
			if p.Protocol != nil {
				protocol = *p.Protocol
			}
			if protocol != c.Protocol {
				continue
			}
			switch {
			case p.Port == nil:
				return true
			case p.Port.Type == intstr.String:
				if to := pod(c.To.Pod); to != nil {
					for _, n := range to.Ports {
						if n.Name == p.Port.StrVal && n.Port == c.Port && n.Protocol == protocol {
							return true
						}
					}
				}
			case p.EndPort != nil && int32(c.Port) >= p.Port.IntVal && int32(c.Port) <= *p.EndPort, p.EndPort == nil && int32(c.Port) == p.Port.IntVal:
				return true
			}
		}
		return len(all) == 0
	}
	if c.From.Pod == c.To.Pod && c.From.Pod != (ID{}) {
		return true
	}
	out, outAllowed, into, intoAllowed := false, false, false, false
	for _, p := range in.Policies {
		ingress, egress := directions(p)
		if from := pod(c.From.Pod); egress && from != nil && from.Namespace == p.Namespace && selects(&p.Spec.PodSelector, from.Labels) {
			out = true
			for _, rule := range p.Spec.Egress {
				any := len(rule.To) == 0
				for _, one := range rule.To {
					any = any || peer(p.Namespace, one, c.To)
				}
				outAllowed = outAllowed || any && ports(rule.Ports)
			}
		}
		if to := pod(c.To.Pod); ingress && to != nil && to.Namespace == p.Namespace && selects(&p.Spec.PodSelector, to.Labels) {
			into = true
			for _, rule := range p.Spec.Ingress {
				any := len(rule.From) == 0
				for _, one := range rule.From {
					any = any || peer(p.Namespace, one, c.From)
				}
				intoAllowed = intoAllowed || any && ports(rule.Ports)
			}
		}
	}
	return (!out || outAllowed) && (!into || intoAllowed)
}

// TestTranslationHasTheSemanticsOfTheObjects compares all connections of a cluster under random policies with the oracle.
func TestTranslationHasTheSemanticsOfTheObjects(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		in := cluster()
		for i := range 1 + random.IntN(4) {
			in.Policies = append(in.Policies, randomPolicy(random, i))
		}
		r := Translate(in)
		if len(r.Problems) > 0 {
			t.Fatalf("%+v", r.Problems)
		}
		random.Shuffle(len(in.Pods), func(i, j int) { in.Pods[i], in.Pods[j] = in.Pods[j], in.Pods[i] })
		random.Shuffle(len(in.Policies), func(i, j int) { in.Policies[i], in.Policies[j] = in.Policies[j], in.Policies[i] })
		if diff := cmp.Diff(r, Translate(in), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Fatalf("the order of the objects makes a difference:\n%s", diff)
		}
		ends := []End{{Address: netip.MustParseAddr("192.0.2.1")}, {Address: netip.MustParseAddr("10.9.9.9")}}
		for _, p := range in.Pods {
			ends = append(ends, End{p.ID, p.Addresses[0]})
		}
		for _, from := range ends {
			for _, to := range ends {
				for _, at := range []uint16{80, 81, 85} {
					c := Connection{From: from, To: to, Protocol: corev1.ProtocolTCP, Port: at}
					if got, want := r.Allowed(c).Allowed, oracle(in, c); got != want {
						t.Fatalf("%+v: allowed is %v, want %v, with %+v", c, got, want, in.Policies)
					}
				}
			}
		}
	}
}

func randomPolicy(random *rand.Rand, i int) *networkingv1.NetworkPolicy {
	pods := []*metav1.LabelSelector{match(), match("pod=a"), match("pod=b"), match("pod=nosuch")}
	namespaces := []*metav1.LabelSelector{match(), match("ns=x"), match("ns=y")}
	blocks := []networkingv1.IPBlock{{CIDR: "0.0.0.0/0"}, {CIDR: "10.1.0.0/16"}, {CIDR: "10.0.0.0/8", Except: []string{"10.0.1.0/24", "10.2.0.0/16"}}}
	ports := []networkingv1.NetworkPolicyPort{port(80), port("http"), port("admin"), portRange(81, 90), of(corev1.ProtocolTCP), of(corev1.ProtocolUDP)}
	peers := func() []networkingv1.NetworkPolicyPeer {
		var all []networkingv1.NetworkPolicyPeer
		for range random.IntN(3) {
			switch random.IntN(4) {
			case 0:
				all = append(all, networkingv1.NetworkPolicyPeer{IPBlock: &blocks[random.IntN(len(blocks))]})
			case 1:
				all = append(all, networkingv1.NetworkPolicyPeer{PodSelector: pods[random.IntN(len(pods))]})
			case 2:
				all = append(all, networkingv1.NetworkPolicyPeer{NamespaceSelector: namespaces[random.IntN(len(namespaces))]})
			case 3:
				all = append(all, networkingv1.NetworkPolicyPeer{NamespaceSelector: namespaces[random.IntN(len(namespaces))], PodSelector: pods[random.IntN(len(pods))]})
			}
		}
		return all
	}
	some := func() []networkingv1.NetworkPolicyPort {
		var all []networkingv1.NetworkPolicyPort
		for range random.IntN(3) {
			all = append(all, ports[random.IntN(len(ports))])
		}
		return all
	}
	spec := networkingv1.NetworkPolicySpec{PodSelector: *pods[random.IntN(len(pods))]}
	spec.PolicyTypes = [][]networkingv1.PolicyType{nil, {"Ingress"}, {"Egress"}, {"Ingress", "Egress"}}[random.IntN(4)]
	for range random.IntN(3) {
		spec.Ingress = append(spec.Ingress, networkingv1.NetworkPolicyIngressRule{From: peers(), Ports: some()})
		spec.Egress = append(spec.Egress, networkingv1.NetworkPolicyEgressRule{To: peers(), Ports: some()})
	}
	p := policy(fmt.Sprint(i), spec)
	p.Namespace = []string{"x", "y"}[random.IntN(2)]
	return p
}

// BenchmarkTranslate is a cluster of 5,000 pods with 1,000 policies in 100 namespaces.
func BenchmarkTranslate(b *testing.B) {
	var in Input
	for n := range 100 {
		ns := fmt.Sprintf("ns-%d", n)
		in.Namespaces = append(in.Namespaces, Namespace{ns, map[string]string{"team": fmt.Sprint(n % 10)}})
		for p := range 50 {
			in.Pods = append(in.Pods, Pod{ID: ID{ns, fmt.Sprintf("p-%d", p)}, Labels: map[string]string{"app": fmt.Sprint(p % 10)}, Ports: []NamedPort{{"http", corev1.ProtocolTCP, 8080}}})
		}
		for p := range 10 {
			one := policy(fmt.Sprintf("np-%d", p), networkingv1.NetworkPolicySpec{PodSelector: *match(fmt.Sprintf("app=%d", p)), Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: match(fmt.Sprintf("team=%d", p)), PodSelector: match("app=1")}},
				Ports: []networkingv1.NetworkPolicyPort{port("http")}}}})
			one.Namespace = ns
			in.Policies = append(in.Policies, one)
		}
	}
	for b.Loop() {
		if r := Translate(in); len(r.Policies) != 1000 {
			b.Fatal(len(r.Policies))
		}
	}
}

// TestNamespacesOfPeers: a rule for all pods of namespaces names these, with and without pods; one that selects pods does not.
func TestNamespacesOfPeers(t *testing.T) {
	everything := &metav1.LabelSelector{}
	of := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	for _, row := range []struct {
		why  string
		peer networkingv1.NetworkPolicyPeer
		want []string
	}{
		{"a selector of namespaces", networkingv1.NetworkPolicyPeer{NamespaceSelector: of("team", "x")}, []string{"b", "empty"}},
		{"all namespaces", networkingv1.NetworkPolicyPeer{NamespaceSelector: everything, PodSelector: everything}, []string{"a", "b", "empty"}},
		{"all pods of the policy's own", networkingv1.NetworkPolicyPeer{PodSelector: everything}, []string{"a"}},
		{"some pods of namespaces", networkingv1.NetworkPolicyPeer{NamespaceSelector: everything, PodSelector: of("app", "web")}, nil},
		{"an address range", networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}, nil},
	} {
		r := Translate(Input{
			Namespaces: []Namespace{{Name: "empty", Labels: map[string]string{"team": "x"}}, {Name: "a"}, {Name: "b", Labels: map[string]string{"team": "x"}}},
			Pods:       []Pod{{ID: ID{Namespace: "a", Name: "p"}}, {ID: ID{Namespace: "b", Name: "p"}}},
			Policies: []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one"}, Spec: networkingv1.NetworkPolicySpec{
				Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{row.peer}}},
			}}},
		})
		if diff := cmp.Diff(row.want, r.Policies[0].Ingress.Rules[0].Peers.Namespaces); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}
