package northbound_test

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/trace"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// traced is the cluster of a world as the API server has it, for cno trace: commands run on this machine with the world's databases.
func (w *world) traced() trace.Cluster {
	w.t.Helper()
	set := objects.NewSet(scheme.Scheme)
	add := func(o client.Object) {
		if err := set.Add(o); err != nil {
			w.t.Fatal(err)
		}
	}
	add(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: "ovn-kubernetes-master"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("master-0_b3a7")},
	})
	for i, n := range w.in.Nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", 11+i)}, {Type: corev1.NodeInternalIP, Address: fmt.Sprintf("2001:db8:1::%d", 11+i)},
		}}}
		if len(n.Blocks) > 0 {
			node.Annotations = map[string]string{topology.NodeSubnets: topology.EncodeNodeSubnets(n.Blocks)}
			w.bind(topology.ManagementPort(n.Name))
		}
		add(node)
	}
	for _, ns := range w.in.Namespaces {
		add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name, Labels: ns.Labels}})
	}
	for _, p := range w.in.Pods {
		given := topology.Pod{MAC: p.MAC}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels}, Spec: corev1.PodSpec{NodeName: p.Node}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		for _, a := range p.Addresses {
			for _, n := range w.in.Nodes {
				for _, b := range n.Blocks {
					if b.Contains(a) {
						given.Addresses = append(given.Addresses, netip.PrefixFrom(a, b.Bits()))
						given.Gateways = append(given.Gateways, topology.RouterAddress(b).Addr())
					}
				}
			}
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: a.String()})
		}
		for _, port := range p.Ports {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{Name: port.Name, Protocol: port.Protocol, ContainerPort: int32(port.Port)}}})
		}
		pod.Annotations = map[string]string{topology.PodNetworks: given.Encode()}
		w.bind(topology.PodPort(p.Namespace, p.Name))
		add(pod)
	}
	for _, p := range w.in.Policies {
		add(p)
	}
	for _, s := range w.in.Services {
		add(s.Service)
		for _, slice := range s.Slices {
			add(slice)
		}
	}
	spec := &operatorv1.NetworkSpec{ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14"}, {CIDR: "fd01::/48"}}}
	spec.DefaultNetwork.Type = operatorv1.NetworkTypeOVNKubernetes
	return trace.Cluster{Objects: set, Spec: spec, Tracer: ovnkubernetes.New(), Run: w.runTrace}
}

// bind does what ovn-controller does for a port.
func (w *world) bind(port string) {
	w.t.Helper()
	w.Southbound("set", "Port_Binding", port, "up=true")
}

// runTrace runs a command of a trace with the world's sockets in place of those of the pod.
func (w *world) runTrace(ctx context.Context, c provider.TraceCommand) (string, error) {
	if c.Node != "master-0" || c.App != "ovnkube-master" || c.Container != "ovn-master" {
		return "", fmt.Errorf("the command is for %+v", c)
	}
	args := make([]string, len(c.Command))
	for i, a := range c.Command {
		args[i] = strings.NewReplacer("/var/run/ovn/ovnsb_db.sock", w.SouthboundSocket(), "/var/run/ovn/ovnnb_db.sock", w.NorthboundSocket()).Replace(a)
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v: %w: %s", args, err, out)
	}
	return string(out), nil
}

// TestTraceNamesTheDecidingPolicy: the steps that OVN itself reports agree with those that follow from objects, and name the policy and its rule.
func TestTraceNamesTheDecidingPolicy(t *testing.T) {
	in := cluster()
	in.Pods[0].Labels = map[string]string{"app": "client"}
	in.Pods[1].Labels = map[string]string{"app": "closed"}
	type (
		peers = []networkingv1.NetworkPolicyPeer
		ports = []networkingv1.NetworkPolicyPort
	)
	in.Policies = []*networkingv1.NetworkPolicy{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "only-web"}, Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: peers{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}}}},
				{From: peers{{NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}}}, Ports: ports{{Port: new(intstr.FromInt32(80))}}},
			}}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "no-egress"}, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "closed"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: peers{{IPBlock: &networkingv1.IPBlock{CIDR: "198.51.100.0/24"}}}}},
		}},
	}
	c := in.Pods[2]
	in.Services = []northbound.Service{{
		Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "web"}, Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{
			Ingress: []corev1.LoadBalancerIngress{{IP: "198.51.100.20"}},
		}}, Spec: corev1.ServiceSpec{
			LoadBalancerSourceRanges: []string{"10.128.0.0/14"},
			ClusterIP:                "172.30.0.10", ClusterIPs: []string{"172.30.0.10"}, Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 8080}, {Name: "two", Protocol: corev1.ProtocolTCP, Port: 8082}},
		}},
		Slices: []*discoveryv1.EndpointSlice{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{c.Addresses[0].String()}, NodeName: new("node2")}},
			Ports:     []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(80))}},
		}, {
			ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "web-2", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{c.Addresses[0].String()}, NodeName: new("node2")}, {Addresses: []string{in.Pods[1].Addresses[0].String()}, NodeName: new("node1")}},
			Ports:     []discoveryv1.EndpointPort{{Name: new("two"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(81))}},
		}},
	}}
	w := start(t, in)
	cluster := w.traced()
	for _, row := range []struct {
		why, from, to string
		port          uint16
		passes        bool
		// named is what the steps of OVN name, and what the result does if the packet is stopped.
		named string
	}{
		{"a rule of a policy allows it", "one/a", "two/c:80", 0, true, "NetworkPolicy two/only-web, ingress rule 1, allows it"},
		{"the same by IPv6", "one/a", "[" + c.Addresses[1].String() + "]:80", 0, true, "NetworkPolicy two/only-web, ingress rule 1, allows it"},
		{"another port", "one/a", "two/c", 81, false, "no ingress rule of a NetworkPolicy that isolates the pod in namespace two allows it"},
		{"the same by IPv6", "one/a", "[" + c.Addresses[1].String() + "]:81", 0, false, "no ingress rule of a NetworkPolicy that isolates the pod in namespace two allows it"},
		{"through a Service, whose endpoint a policy allows", "one/a", "service/two/web:8080", 0, true, "NetworkPolicy two/only-web, ingress rule 1, allows it"},
		{"by the address and the name of the port", "one/a", "172.30.0.10:http", 0, true, "ct_lb_mark"},
		{"a Service one of whose two endpoints a policy refuses: that one is shown", "one/a", "two/web:two", 0, false, "no ingress rule of a NetworkPolicy that isolates the pod in namespace two allows it"},
		{"a policy stops what leaves", "one/b", "two/c:80", 0, false, "no egress rule of a NetworkPolicy that isolates the pod in namespace one allows it"},
		{"also through a Service: after the translation", "one/b", "two/web:8080", 0, false, "no egress rule of a NetworkPolicy that isolates the pod in namespace one allows it"},
		{"an address outside that a rule allows", "one/b", "198.51.100.7:443", 0, true, "NetworkPolicy one/no-egress, egress rule 0, allows it"},
		{"one that none allows", "one/b", "203.0.113.7:443", 0, false, "no egress rule of a NetworkPolicy that isolates the pod in namespace one allows it"},
		{"pods of one switch", "one/a", "one/b:1", 0, true, "from port one_a to port one_b"},
		{"an address of a load balancer with ranges of sources, which the node translates", "one/a", "198.51.100.20:8080", 0, true, "from port stor-node1 to port k8s-node1"},
		{"a node", "one/a", "192.0.2.12:10250", 0, true, "from port stor-node1 to port k8s-node1"},
	} {
		got, err := trace.Trace(t.Context(), cluster, trace.Question{From: row.from, To: row.to, Port: row.port})
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
			continue
		}
		var objects, installed bool
		var text []string
		for _, s := range got.Request {
			if s.Installed {
				installed = installed || !s.OK
				text = append(text, s.Where+": "+s.What, strings.Join(s.Flows, "\n"))
			} else {
				objects = objects || !s.OK
			}
		}
		if got.Passes != row.passes || objects != !row.passes || installed != !row.passes {
			t.Errorf("%s: passes %t (objects stop it %t, OVN stops it %t), want %t: %s %s\n%s", row.why, got.Passes, objects, installed, row.passes, got.Result, got.Notes, strings.Join(text, "\n"))
		}
		if all := strings.Join(text, "\n"); !strings.Contains(all, row.named) {
			t.Errorf("%s: the steps do not name %q:\n%s", row.why, row.named, all)
		}
		if replies := installedSteps(got.Reply); row.passes && len(replies) == 0 || !row.passes && len(replies) > 0 {
			t.Errorf("%s: %d steps of the reply in OVN", row.why, len(replies))
		}
	}
	w.Southbound("set", "Port_Binding", "two_c", "up=false")
	got, err := trace.Trace(t.Context(), cluster, trace.Question{From: "one/a", To: "two/c:80"})
	if err != nil || got.Passes || !strings.Contains(got.Result, "logical port two_c: is not connected: ovn-controller on node node2 has not bound it") {
		t.Errorf("a port that is not bound: %s %v", got.Result, err)
	}
}

func installedSteps(steps []trace.Step) (out []trace.Step) {
	for _, s := range steps {
		if s.Installed {
			out = append(out, s)
		}
	}
	return out
}
