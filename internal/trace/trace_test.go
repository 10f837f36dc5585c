package trace_test

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/internal/trace"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
)

// network is a network whose own answer is given.
type network struct {
	unenforced string
	// onNodes is what translates Services for clients on nodes, if it is not what does it for pods.
	onNodes string
	steps   []provider.TraceStep
	err     error
	asked   []provider.TracePacket
}

func (n *network) Carries(*operatorv1.NetworkSpec) provider.Carriage {
	return provider.Carriage{Unenforced: n.unenforced, Between: "a tunnel", Translates: "a proxy on the node of the client", NodeTranslates: n.onNodes, Leaves: "masquerades the packet with its own address"}
}

func (n *network) Trace(_ context.Context, _ provider.TraceAccess, p provider.TracePacket) ([]provider.TraceStep, error) {
	n.asked = append(n.asked, p)
	return n.steps, n.err
}

func pod(namespace, name, node, address string, edit ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}},
	}
	for _, f := range edit {
		f(p)
	}
	return p
}

func onHost(p *corev1.Pod) { p.Spec.HostNetwork = true }
func pending(p *corev1.Pod) {
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
}
func serves(ports ...int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, n := range ports {
			p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: n})
		}
	}
}

func service(name, address string, ports []corev1.ServicePort, endpoints ...string) []client.Object {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: address, ClusterIPs: []string{address}, Ports: ports}}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: name}}}
	for _, p := range ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: new(p.Name), Port: new(p.TargetPort.IntVal)})
	}
	for _, a := range endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, NodeName: new("worker-1")})
	}
	return []client.Object{s, slice}
}

// cluster is a small shop on two nodes.
func cluster(t *testing.T, n provider.Tracer) trace.Cluster {
	t.Helper()
	set := objects.NewSet(scheme.Scheme)
	port := func(name string, port, target int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: port, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(target)}
	}
	all := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}},
		pod("shop", "client", "worker-0", "10.128.0.5"), pod("shop", "db", "worker-1", "10.128.2.7", serves(5432)), pod("shop", "replica", "worker-1", "10.128.2.8", serves(5432, 9187)),
		pod("other", "stranger", "worker-0", "10.128.0.6"), pod("other", "agent", "worker-1", "192.0.2.12", onHost), pod("other", "new", "worker-0", "", pending),
		&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "only-shop"}, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}, Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(9187))}}},
				{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}, Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(5432))}}},
			}}},
	}
	for i, name := range []string{"worker-0", "worker-1"} {
		all = append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1" + string(rune('1'+i))}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}})
	}
	all = append(all, service("db", "172.30.0.10", []corev1.ServicePort{port("sql", 5432, 5432), port("metrics", 80, 9187)}, "10.128.2.7", "10.128.2.8")...)
	all = append(all, service("empty", "172.30.0.11", []corev1.ServicePort{port("", 80, 80)})...)
	all = append(all, service("both", "172.30.0.12", []corev1.ServicePort{port("", 80, 80)}, "10.128.2.7")...)
	all = append(all, pod("shop", "both", "worker-1", "10.128.2.9", serves(80)))
	for _, row := range []struct{ name, address, balancer, ranges string }{
		{"within", "172.30.0.13", "198.51.100.13", "10.128.0.0/14"}, {"elsewhere", "172.30.0.14", "198.51.100.14", "203.0.113.0/24"},
	} {
		objects := service(row.name, row.address, []corev1.ServicePort{port("", 80, 80)}, "10.128.2.8")
		s := objects[0].(*corev1.Service)
		s.Spec.LoadBalancerSourceRanges = []string{row.ranges, "2001:db8::/64"}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: row.balancer}}
		all = append(all, objects...)
	}
	all = append(all, service("headless", "None", []corev1.ServicePort{port("", 80, 80)}, "10.128.2.7")...)
	for _, o := range all {
		if err := set.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	spec := &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}}}
	spec.DefaultNetwork.Type = "Test"
	return trace.Cluster{Objects: set, Spec: spec, Tracer: n, Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
		if name != "www.example.com" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("198.51.100.7")}, nil
	}}
}

// TestAnswers is the output for people: each file is one question.
func TestAnswers(t *testing.T) {
	drop := []provider.TraceStep{
		{Where: "bridge of node worker-0", What: "to 192.0.2.12"},
		{Where: "bridge of node worker-1", What: "the packet is dropped", Stops: true, Flows: []string{"one", "two", "three", "four: NetworkPolicy shop/only-shop"}},
	}
	for _, row := range []struct {
		file   string
		q      trace.Question
		n      *network
		passes bool
	}{
		{"stopped-by-a-policy", trace.Question{From: "other/stranger", To: "pod/shop/db"}, &network{steps: drop}, false},
		{"through-a-service", trace.Question{From: "shop/client", To: "service/shop/db:sql"}, &network{steps: []provider.TraceStep{{Where: "x", What: "to y"}, {Where: "y", What: "to x", Reply: true}}}, true},
		{"one-of-two-endpoints", trace.Question{From: "other/stranger", To: "service/shop/db:sql"}, &network{steps: drop}, false},
		{"a-name-outside", trace.Question{From: "shop/client", To: "www.example.com:443"}, &network{}, true},
		{"no-endpoint", trace.Question{From: "shop/client", To: "shop/empty"}, &network{}, false},
		{"not-enforced", trace.Question{From: "other/stranger", To: "10.128.2.7:5432"}, &network{unenforced: "Test does not enforce NetworkPolicies"}, true},
		{"the-own-node", trace.Question{From: "other/agent", To: "pod/shop/db"}, &network{err: errors.New("no pod runs")}, true},
		{"the-network-drops", trace.Question{From: "shop/client", To: "shop/replica", Port: 5432, Protocol: corev1.ProtocolUDP}, &network{steps: drop}, false},
		{"without-an-address", trace.Question{From: "shop/client", To: "other/new:80"}, &network{}, false},
		{"outside-the-ranges-of-a-load-balancer", trace.Question{From: "shop/client", To: "198.51.100.14:80"}, &network{onNodes: "kube-proxy"}, false},
		{"within-the-ranges-of-a-load-balancer", trace.Question{From: "shop/client", To: "198.51.100.13:80"}, &network{}, true},
		{"ranges-that-nodes-compare", trace.Question{From: "shop/client", To: "198.51.100.13:80"}, &network{onNodes: "kube-proxy on the node of the client"}, true},
		{"ranges-do-not-concern-the-cluster-ip", trace.Question{From: "shop/client", To: "shop/elsewhere:80"}, &network{onNodes: "kube-proxy"}, true},
		{"a-service-from-a-node", trace.Question{From: "other/agent", To: "shop/within:80"}, &network{onNodes: "kube-proxy on the node of the client"}, true},
		{"no-pods-address", trace.Question{From: "shop/client", To: "10.128.9.9:80"}, &network{}, false},
	} {
		got, err := trace.Trace(t.Context(), cluster(t, row.n), row.q)
		if err != nil {
			t.Errorf("%s: %v", row.file, err)
			continue
		}
		if got.Passes != row.passes {
			t.Errorf("%s: passes %t", row.file, got.Passes)
		}
		var text strings.Builder
		if err := got.Write(&text, false); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, filepath.Join("testdata", row.file+".txt"), []byte(text.String()))
	}
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	for _, row := range []struct {
		why  string
		q    trace.Question
		kind error
		want string
	}{
		{"a source without a namespace", trace.Question{From: "client", To: "shop/db"}, trace.ErrQuestion, `"client" is no source: write NAMESPACE/POD`},
		{"a source with a typing error", trace.Question{From: "shop/cleint", To: "shop/db"}, trace.ErrUnknown, `there is no pod "shop/cleint" (did you mean shop/client?)`},
		{"a destination that does not exist", trace.Question{From: "shop/client", To: "shop/dbb"}, trace.ErrUnknown, `there is neither a pod nor a Service "shop/dbb"`},
		{"a pod and a Service of one name", trace.Question{From: "shop/client", To: "shop/both"}, trace.ErrQuestion, "write pod/shop/both or service/shop/both"},
		{"a destination without a namespace", trace.Question{From: "shop/client", To: "db"}, trace.ErrQuestion, "write the namespace of a pod or Service, NAMESPACE/db"},
		{"no port, and two are declared", trace.Question{From: "shop/client", To: "shop/replica"}, trace.ErrQuestion, "which port of TCP? write DESTINATION:PORT, or --port; the destination declares [5432 9187]"},
		{"no port, and a Service has two", trace.Question{From: "shop/client", To: "service/shop/db"}, trace.ErrQuestion, "it has 5432/TCP (sql), 80/TCP (metrics)"},
		{"a port that a Service does not have", trace.Question{From: "shop/client", To: "service/shop/db:81"}, trace.ErrUnknown, "service shop/db has no such port; it has 5432/TCP (sql), 80/TCP (metrics)"},
		{"a protocol that a Service does not have", trace.Question{From: "shop/client", To: "service/shop/db:sql", Protocol: "UDP"}, trace.ErrUnknown, "service shop/db has no such port"},
		{"a headless Service", trace.Question{From: "shop/client", To: "shop/headless"}, trace.ErrQuestion, "is headless: its name stands for the addresses of its pods"},
		{"no such protocol", trace.Question{From: "shop/client", To: "shop/both:80", Protocol: "ICMP"}, trace.ErrQuestion, `protocol "ICMP" is not TCP, UDP or SCTP`},
		{"a port that is none", trace.Question{From: "shop/client", To: "pod/shop/db:70000"}, trace.ErrQuestion, `"70000" is not a port`},
		{"a Service by a name of DNS that does not exist", trace.Question{From: "shop/client", To: "dc.shop.svc.cluster.local:80"}, trace.ErrUnknown, `there is no Service "shop/dc"`},
		{"a name that cannot be resolved", trace.Question{From: "shop/client", To: "nowhere.example.com:80"}, nil, "resolve nowhere.example.com: no such host; write an address if only pods can resolve the name"},
		{"brackets that are not closed", trace.Question{From: "shop/client", To: "[fd01::5"}, trace.ErrQuestion, "write [ADDRESS]:PORT"},
	} {
		_, err := trace.Trace(t.Context(), cluster(t, &network{}), row.q)
		if err == nil || !strings.Contains(err.Error(), row.want) || row.kind != nil && !errors.Is(err, row.kind) {
			t.Errorf("%s: %v, want %q", row.why, err, row.want)
		}
	}
}

// TestThirdPartyNetworkIsNotTraced: without a Tracer the answer has what is unknown.
func TestThirdPartyNetworkIsNotTraced(t *testing.T) {
	c := cluster(t, nil)
	c.Tracer = nil
	got, err := trace.Trace(t.Context(), c, trace.Question{From: "shop/client", To: "db.shop.svc.cluster.local:5432"})
	if err != nil || !got.Passes || got.Service == nil || !strings.Contains(strings.Join(got.Notes, "\n"), "whether it enforces NetworkPolicies, and what it does on nodes, is not known") {
		t.Errorf("%+v, %v", got, err)
	}
}
