package northbound_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
)

// end is an endpoint of a Service in a test.
type end struct {
	address, node                  string
	notReady, serving, terminating bool
}

// service is a Service with one slice for each family of its endpoints, whose port is 8080.
func service(name, protocol string, change func(*corev1.Service), vips []string, ends ...end) northbound.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name}, Spec: corev1.ServiceSpec{ClusterIPs: vips}}
	if len(vips) > 0 {
		s.Spec.ClusterIP = vips[0]
	}
	s.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80, Protocol: corev1.Protocol(protocol)}}
	if change != nil {
		change(s)
	}
	out := northbound.Service{Service: s}
	for _, e := range ends {
		out.Slices = append(out.Slices, &discoveryv1.EndpointSlice{
			Ports: []discoveryv1.EndpointPort{
				{Name: new("a"), Port: new(int32(8080)), Protocol: new(corev1.Protocol(protocol))},
				{Name: new("b"), Port: new(int32(8443)), Protocol: new(corev1.Protocol(protocol))},
			},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{e.address}, NodeName: &e.node, Conditions: discoveryv1.EndpointConditions{
				Ready: new(!e.notReady), Serving: new(!e.notReady || e.serving), Terminating: &e.terminating,
			}}},
		})
	}
	return out
}

func TestServicesLeadToTheirEndpoints(t *testing.T) {
	in := cluster()
	a, b, c := in.Pods[0], in.Pods[1], in.Pods[2]
	v4 := func(p northbound.Pod) end { return end{address: p.Addresses[0].String(), node: p.Node} }
	v6 := func(p northbound.Pod) end { return end{address: p.Addresses[1].String(), node: p.Node} }
	local := func(s *corev1.Service) {
		s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		s.Spec.ExternalIPs = []string{"192.0.2.99"}
	}
	leaving, stays := v4(b), v4(c)
	leaving.notReady, leaving.serving, leaving.terminating = true, true, true
	dead := v4(a)
	dead.notReady = true
	in.Services = []northbound.Service{
		service("tcp", "TCP", func(s *corev1.Service) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "b", Port: 443, Protocol: corev1.ProtocolTCP})
			s.Spec.ExternalIPs = []string{"192.0.2.10"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.11"}, {IP: "192.0.2.12", IPMode: new(corev1.LoadBalancerIPModeProxy)}, {Hostname: "x.invalid"}}
		}, []string{"172.30.0.1", "fd02::1"}, v4(c), v6(c)),
		service("ranges", "TCP", func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeLoadBalancer, []string{"198.51.100.0/24"}
			s.Spec.ExternalIPs = []string{"192.0.2.14"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.13"}}
		}, []string{"172.30.0.12"}, v4(c)),
		service("udp", "UDP", nil, []string{"172.30.0.2"}, v4(c)),
		service("sctp", "SCTP", nil, []string{"172.30.0.3"}, v4(c)),
		service("none", "TCP", nil, []string{"172.30.0.4"}, dead),
		service("self", "TCP", nil, []string{"172.30.0.5", "fd02::5"}, v4(a), v6(a)),
		service("local", "TCP", local, []string{"172.30.0.6"}, v4(b)),
		service("terminating", "TCP", nil, []string{"172.30.0.7"}, leaving, stays),
		service("serving", "TCP", nil, []string{"172.30.0.8"}, leaving, dead),
		service("host", "TCP", nil, []string{"172.30.0.9"}, end{address: "203.0.113.5", node: "node2"}),
		service("headless", "TCP", nil, []string{corev1.ClusterIPNone}, v4(c)),
		service("external", "TCP", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, nil, v4(c)),
		service("sticky", "TCP", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, []string{"172.30.0.11"}, v4(c)),
	}
	w := start(t, in)
	for _, tt := range []struct {
		reason, vip, protocol string
		port                  int
		from                  northbound.Pod
		want                  string
	}{
		{"TCP", "172.30.0.1", "tcp", 80, a, "two_c"},
		{"another port", "172.30.0.1", "tcp", 443, a, "two_c"},
		{"the other family", "fd02::1", "tcp", 80, a, "two_c"},
		{"an external IP", "192.0.2.10", "tcp", 80, a, "two_c"},
		{"an address of a load balancer", "192.0.2.11", "tcp", 80, a, "two_c"},
		{"that of a load balancer that is a proxy", "192.0.2.12", "tcp", 80, a, "k8s-node1"},
		{"that of a load balancer with ranges of sources, which kube-proxy compares", "192.0.2.13", "tcp", 80, a, "k8s-node1"},
		{"an external IP of that Service, which the ranges do not concern", "192.0.2.14", "tcp", 80, a, "two_c"},
		{"its ClusterIP, which they do not concern either", "172.30.0.12", "tcp", 80, a, "two_c"},
		{"UDP", "172.30.0.2", "udp", 80, a, "two_c"},
		{"SCTP", "172.30.0.3", "sctp", 80, a, "two_c"},
		{"a Service without endpoints refuses: the answer is the client's", "172.30.0.4", "tcp", 80, b, "one_b"},
		{"a pod reaches itself", "172.30.0.5", "tcp", 80, a, "one_a"},
		{"the same, IPv6", "fd02::5", "tcp", 80, a, "one_a"},
		{"local, and the node has an endpoint", "172.30.0.6", "tcp", 80, a, "one_b"},
		{"local, and the node has none: it refuses", "172.30.0.6", "tcp", 80, c, "two_c"},
		{"the policy for the inside is not one for external IPs", "192.0.2.99", "tcp", 80, c, "one_b"},
		{"an endpoint that terminates is not used while another one is ready", "172.30.0.7", "tcp", 80, a, "two_c"},
		{"it is while none is", "172.30.0.8", "tcp", 80, a, "one_b"},
		{"an endpoint on a host's network", "172.30.0.9", "tcp", 80, a, "k8s-node1"},
		{"ClientIP", "172.30.0.11", "tcp", 80, a, "two_c"},
		{"a port that the Service has not", "172.30.0.1", "tcp", 81, a, "k8s-node1"},
	} {
		p := w.from(tt.from, netip.MustParseAddr(tt.vip))
		p.dst, p.protocol, p.port = netip.MustParseAddr(tt.vip), tt.protocol, tt.port
		outputs, full := w.send(p)
		if got := strings.Join(outputs, " "); got != tt.want {
			t.Errorf("%s: the packet leaves by %q, want %q\n%s", tt.reason, got, tt.want, full)
		}
		if refused := strings.Contains(full, "tcp_reset"); refused != strings.Contains(tt.reason, "refuses") {
			t.Errorf("%s: refused is %t\n%s", tt.reason, refused, full)
		}
	}
	names := w.Northbound("--bare", "--columns=name", "list", "Load_Balancer")
	for _, absent := range []string{"headless", "external"} {
		if strings.Contains(names, absent) {
			t.Errorf("there is a load balancer for the Service %s", absent)
		}
	}
	if got := w.Northbound("--bare", "--columns=selection_fields", "find", "Load_Balancer", "name=Service_one/sticky_TCP_cluster"); strings.TrimSpace(got) != "eth_src ip_src" {
		t.Errorf("the Service with ClientIP affinity selects by %q", got)
	}
}

// TestPoliciesApplyToEndpoints: a policy names peers; that a connection was to a Service makes no difference.
func TestPoliciesApplyToEndpoints(t *testing.T) {
	in := cluster()
	c := in.Pods[2]
	in.Services = []northbound.Service{
		service("allowed", "TCP", nil, []string{"172.30.0.1"}, end{address: c.Addresses[0].String(), node: c.Node}),
		service("denied", "TCP", nil, []string{"172.30.0.2"}, end{address: in.Pods[1].Addresses[0].String(), node: "node1"}),
	}
	in.Policies = []*networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "p"}, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
			{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}}}}},
	}}}
	w := start(t, in)
	for _, tt := range []struct{ reason, vip, want string }{
		{"its endpoint is allowed", "172.30.0.1", "two_c"},
		{"its endpoint is not", "172.30.0.2", ""},
	} {
		p := w.from(in.Pods[0], netip.IPv4Unspecified())
		p.dst, p.protocol, p.port = netip.MustParseAddr(tt.vip), "tcp", 80
		outputs, full := w.send(p)
		if got := strings.Join(outputs, " "); got != tt.want {
			t.Errorf("%s: the packet leaves by %q, want %q\n%s", tt.reason, got, tt.want, full)
		}
	}
	// What a Service leads back to the pod itself has this source, which ovn-trace does not compute.
	a := in.Pods[0]
	outputs, full := w.Trace("--ct=new", "node1", fmt.Sprintf("inport==\"stor-node1\" && eth.src==0a:58:0a:80:02:01 && eth.dst==%s && ip4.src==169.254.169.5 && ip4.dst==%s && ip.ttl==64 && tcp.dst==8080",
		a.MAC, a.Addresses[0]))
	if got := strings.Join(outputs, " "); got != "one_a" {
		t.Errorf("a pod that reaches itself: the packet leaves by %q\n%s", got, full)
	}
}
