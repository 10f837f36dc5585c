package policy

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/internal/netpolicy/netpolicytest"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
)

func addresses(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

// some are a web server, clients of it, and a policy on the network ns/lan that uses every kind of rule.
func some() Cluster {
	pod := func(name string, lan []netip.Addr, ports ...netpolicy.NamedPort) Pod {
		p := Pod{Networks: map[string][]netip.Addr{"ns/lan": lan, "ns/other": addresses("203.0.113.1")}}
		p.ID, p.Labels, p.Ports = netpolicy.ID{Namespace: "ns", Name: name}, map[string]string{"pod": name}, ports
		return p
	}
	peers := func(p ...networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer { return p }
	block := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24", Except: []string{"192.0.2.0/26", "192.0.2.8/29", "192.0.2.128/25"}}}
	all := networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: []string{"2001:db8::/32"}}}
	named := networkingv1.NetworkPolicyPort{Port: new(intstr.FromString("http"))}
	spec := networkingv1.NetworkPolicySpec{
		PodSelector: *netpolicytest.Match("pod=web"),
		Ingress: []networkingv1.NetworkPolicyIngressRule{
			{From: peers(networkingv1.NetworkPolicyPeer{PodSelector: netpolicytest.Match("pod=client")}), Ports: []networkingv1.NetworkPolicyPort{named, netpolicytest.Range(90, 99)}},
			{From: peers(block, all), Ports: []networkingv1.NetworkPolicyPort{netpolicytest.Of(corev1.ProtocolUDP)}},
			{From: peers(networkingv1.NetworkPolicyPeer{PodSelector: netpolicytest.Match("pod=nosuch")})},
		},
		Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{named}}, {To: peers(block), Ports: []networkingv1.NetworkPolicyPort{named}}, {To: peers(block)}},
	}
	http := func(port uint16) netpolicy.NamedPort {
		return netpolicy.NamedPort{Name: "http", Protocol: corev1.ProtocolTCP, Port: port}
	}
	return Cluster{
		Namespaces: []netpolicy.Namespace{{Name: "ns"}},
		Pods: []Pod{
			pod("web", addresses("192.0.2.5", "2001:db8::5"), http(8080)), pod("client", addresses("192.0.2.66", "2001:db8::66"), http(80)), pod("silent", nil),
		},
		Policies: []Policy{
			{NetworkPolicy: networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: spec}, Networks: []string{"ns/lan"}},
			{NetworkPolicy: networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "egress"}, Spec: networkingv1.NetworkPolicySpec{
				PodSelector: *netpolicytest.Match("pod=silent"), PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			}}, Networks: []string{"ns/lan", "ns/other"}},
		},
	}
}

func rulesOf(t *testing.T, c Cluster, pod string, custom Custom, interfaces ...Interface) Ruleset {
	t.Helper()
	views := map[string]View{}
	for _, i := range interfaces {
		views[i.Network] = c.View(i.Network)
	}
	r, err := Rules(views, netpolicy.ID{Namespace: "ns", Name: pod}, interfaces, custom)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRules(t *testing.T) {
	lan, other := Interface{"net1", "ns/lan"}, Interface{"net2", "ns/other"}
	for name, r := range map[string]Ruleset{
		"web":    rulesOf(t, some(), "web", Custom{IPv6: []string{"icmpv6 type echo-request accept"}}, lan, other),
		"silent": rulesOf(t, some(), "silent", Custom{}, other, lan),
	} {
		golden.Compare(t, "testdata/"+name+".nft", []byte(r.String()))
	}
	for why, r := range map[string]Ruleset{
		"no policy selects the pod":    rulesOf(t, some(), "client", Custom{}, lan, other),
		"no policy is for the network": rulesOf(t, some(), "web", Custom{IPv4: []string{"accept"}}, other),
		"no interface":                 rulesOf(t, some(), "web", Custom{}),
	} {
		if !r.Empty() {
			t.Errorf("%s: %s", why, r)
		}
	}
}

func TestUnsupportedInterfaceNames(t *testing.T) {
	c := some()
	for name, fine := range map[string]bool{"net1": true, "data-0.5": true, "net*": false, `a"`: false, "a;b": false, `\`: false, "": false} {
		_, err := Rules(map[string]View{"ns/lan": c.View("ns/lan")}, netpolicy.ID{Namespace: "ns", Name: "web"}, []Interface{{name, "ns/lan"}}, Custom{})
		var named *NameError
		if errors.As(err, &named) == fine {
			t.Errorf("%q: %v", name, err)
		}
		// A pod that no policy isolates may have any.
		if _, err := Rules(map[string]View{"ns/lan": c.View("ns/lan")}, netpolicy.ID{Namespace: "ns", Name: "client"}, []Interface{{name, "ns/lan"}}, Custom{}); err != nil {
			t.Errorf("%q without a policy: %v", name, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	got := Addresses(`[{"name":"flannel","interface":"eth0","ips":["10.244.0.5"],"default":true},{"name":"ns/a","ips":["192.0.2.5","2001:db8::5","nonsense"]},{"name":"ns/a","ips":["192.0.2.6"]},{"name":"ns/b"}]`)
	want := map[string][]netip.Addr{"ns/a": addresses("192.0.2.5", "2001:db8::5", "192.0.2.6"), "ns/b": nil}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "null", "[]", "{", `[{"name":1}]`, `[{"name":"flannel","default":true}]`} {
		if got := Addresses(text); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// object is a policy as the API server has it.
func object(annotation string, spec any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetNamespace("ns")
	u.SetName("p")
	u.SetUID("u1")
	if annotation != "" {
		u.SetAnnotations(map[string]string{AnnotationFor: annotation})
	}
	return u
}

var fine = map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"pod": "web"}}, "policyTypes": []any{"Egress"}}

func TestRead(t *testing.T) {
	wrong := func(key string, value any) map[string]any {
		spec := map[string]any{"podSelector": map[string]any{}}
		spec[key] = value
		return spec
	}
	for _, row := range []struct {
		why        string
		annotation string
		spec       any
		networks   string
		all        bool
		errs       []string
	}{
		{"names of two namespaces", " net1, other/net.2 ,net1", fine, "ns/net1 other/net.2 ns/net1", false, nil},
		{"without the annotation it is for no network", "", fine, "", false, nil},
		{"a blank annotation", " ", fine, "", false, nil},
		{"a name that is none", "net1,Net_2", fine, "ns/net1", true, []string{"policy-for][1]"}},
		{"an empty name", "net1,", fine, "ns/net1", true, []string{"policy-for][1]"}},
		{"a namespace that is none", "a/b/c", fine, "", true, []string{"policy-for][0]"}},
		{"a selector that cannot be read", "net1", wrong("podSelector", map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Near"}}}), "ns/net1", false, []string{"spec.podSelector"}},
		{"a type that is none", "net1", wrong("policyTypes", []any{"Sideways"}), "ns/net1", false, []string{"spec.policyTypes[0]"}},
		{"a range that is none", "net1", wrong("ingress", []any{map[string]any{"from": []any{map[string]any{"ipBlock": map[string]any{"cidr": "x"}}}}}), "ns/net1", false, []string{"spec.ingress[0].from[0].ipBlock.cidr"}},
		{"fields of other types", "net1", wrong("ingress", "x"), "ns/net1", false, []string{"spec: Invalid"}},
		{"no specification", "net1", nil, "ns/net1", false, nil},
	} {
		p, errs := Read(object(row.annotation, row.spec))
		if got := strings.Join(p.Networks, " "); got != row.networks || p.AllNetworks != row.all || len(errs) != len(row.errs) {
			t.Errorf("%s: %s, all is %v, %v", row.why, got, p.AllNetworks, errs)
		}
		for i, want := range row.errs {
			if i < len(errs) && !strings.Contains(errs[i].Error(), want) {
				t.Errorf("%s: %v does not contain %s", row.why, errs[i], want)
			}
		}
		if len(row.errs) == 0 {
			continue
		}
		// What cannot be read isolates.
		c := some()
		c.Policies = []Policy{p}
		if rulesOf(t, c, "web", Custom{}, Interface{"net1", "ns/net1"}, Interface{"net2", "ns/other"}).Empty() && row.all {
			t.Errorf("%s: it opens", row.why)
		}
		if web := some(); !row.all {
			p.Networks = []string{"ns/lan"}
			web.Policies = []Policy{p}
			if r := rulesOf(t, web, "web", Custom{}, Interface{"net1", "ns/lan"}); !strings.Contains(r.String(), "drop") {
				t.Errorf("%s: it opens: %s", row.why, r)
			}
		}
	}
}

func TestInvalidPolicyKeepsItsLastValidForm(t *testing.T) {
	book := NewReader(nil)
	read := func(o *unstructured.Unstructured) (Policy, string) {
		t.Helper()
		policies, problems := book.Read([]*unstructured.Unstructured{o})
		if len(policies) != 1 || len(problems) > 1 {
			t.Fatalf("%+v, %+v", policies, problems)
		}
		if len(problems) == 0 {
			return policies[0], ""
		}
		return policies[0], problems[0].Sentence
	}
	if p, sentence := read(object("Net_1", fine)); !p.AllNetworks || !strings.Contains(sentence, "isolates") {
		t.Errorf("never right: %+v, %s", p, sentence)
	}
	if p, sentence := read(object("net1", fine)); p.AllNetworks || sentence != "" || !p.On("ns/net1") || p.On("ns/net2") {
		t.Errorf("right: %+v, %s", p, sentence)
	}
	for range 2 {
		if p, sentence := read(object("Net_1", fine)); p.AllNetworks || !p.On("ns/net1") || !strings.Contains(sentence, "last valid form") {
			t.Errorf("wrong again: %+v, %s", p, sentence)
		}
	}
	if p, _ := read(object("net2", fine)); !p.On("ns/net2") || p.On("ns/net1") {
		t.Errorf("right again: %+v", p)
	}
	again := object("Net_1", fine)
	again.SetUID(types.UID("u2"))
	if p, _ := read(again); !p.AllNetworks {
		t.Errorf("another object of the name: %+v", p)
	}
}

func TestCustomRules(t *testing.T) {
	got := CustomRules("# routers\n\n icmpv6 type nd-router-advert  accept \nip protocol icmp counter accept\nwrong\n", func(rule string) bool { return rule != "wrong" })
	if diff := cmp.Diff([]string{"icmpv6 type nd-router-advert accept", "ip protocol icmp accept"}, got); diff != "" {
		t.Error(diff)
	}
}
