package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/idling"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// startProxy runs kube-proxy on the node, in a mode, and waits until it has written rules.
func (m *machine) startProxy(mode string) {
	m.t.Helper()
	m.runProxy(mode)
	eventually.Holds(m.t, "kube-proxy has written rules", func() (string, bool) {
		if mode == "iptables" {
			out, err := m.at.Try("iptables", "-t", "nat", "-S", "KUBE-SERVICES")
			return out, err == nil
		}
		out, err := m.at.Try("nft", "list", "chain", "ip", "kube-proxy", "filter-forward")
		return out, err == nil
	})
}

// runProxy runs kube-proxy on the node, configured as the operator does it.
func (m *machine) runProxy(mode string) *nodetest.Process {
	m.t.Helper()
	m.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.address.String()}}}})
	file := filepath.Join(m.t.TempDir(), "kube-proxy.yaml")
	content := fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: %s
detectLocalMode: BridgeInterface
detectLocal: {bridgeInterface: tun0}
hostnameOverride: %s
bindAddress: 0.0.0.0
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:%d
clientConnection: {kubeconfig: %s}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
%s: {masqueradeBit: 14, syncPeriod: 30s, minSyncPeriod: 1s}
`, mode, m.name, agentconfig.ProxyMetricsPort, m.kubeconfig, mode)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return nodetest.Start(m.t, m.at, m.name+", kube-proxy", nil, m.restricted("kube-proxy", filepath.Join(assets.Dir(m.t, "kube-proxy"), "kube-proxy"), "--config", file)...)
}

// idled creates a Service that is marked as idled, or not, and has no endpoints.
func (c *cluster) idled(namespace, name string, marked bool, ports ...corev1.ServicePort) *corev1.Service {
	c.t.Helper()
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: ports}}
	if marked {
		annotations, err := idling.Encode(idling.State{At: time.Now()})
		if err != nil {
			c.t.Fatal(err)
		}
		s.Annotations = annotations
	}
	c.create(s)
	return s
}

// wake removes the marks of a Service after it has got an endpoint, as controllers do.
func (c *cluster) wake(s *corev1.Service, to *pod) {
	c.t.Helper()
	e := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{to.address.String()}}},
	}
	for _, p := range s.Spec.Ports {
		e.Ports = append(e.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: new(p.TargetPort.IntVal)})
	}
	c.create(e)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null}}`))
	if err := c.client.Patch(c.t.Context(), s, patch); err != nil {
		c.t.Fatal(err)
	}
}

// needed are the Events that ask for the pods of a Service.
func (c *cluster) needed(s *corev1.Service) []corev1.Event {
	c.t.Helper()
	var all corev1.EventList
	if err := c.client.List(c.t.Context(), &all, client.InNamespace(s.Namespace)); err != nil {
		c.t.Fatal(err)
	}
	var out []corev1.Event
	for _, e := range all.Items {
		if e.Reason == idling.NeedPods && e.InvolvedObject.Kind == "Service" && e.InvolvedObject.Name == s.Name && e.InvolvedObject.UID == s.UID {
			out = append(out, e)
		}
	}
	return out
}

// dialAll opens connections from a namespace at once, and returns what the servers answer, in no order.
func dialAll(ctx context.Context, at netns.Namespace, address string, count int) func() ([]string, error) {
	var mu sync.Mutex
	var answers []string
	var failed error
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			answer, err := nodetest.Ask(at, address, time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && ctx.Err() == nil {
				failed = errors.Join(failed, err)
				return
			}
			answers = append(answers, answer)
		})
	}
	return func() ([]string, error) { all.Wait(); return answers, failed }
}

// TestServices is what the agent adds to a kube-proxy that runs unmodified, and what pods ask for by annotations: they share a node.
func TestServices(t *testing.T) {
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	c.namespace("two", 11)
	one := c.node()
	one.startProxy("nftables")
	one.ready()
	t.Run("endpoints outside", func(t *testing.T) { endpointsOutside(t, c, one) })
	t.Run("limits of bandwidth", func(t *testing.T) { limitedPods(t, one) })
	t.Run("interfaces on a link of the node", func(t *testing.T) { macvlanPods(t, one) })
	t.Run("idled", func(t *testing.T) { idledServices(t, c, one) })
}

// TestServicesByIPTables: connections to idled Services are held back as well when kube-proxy writes its rules by iptables.
func TestServicesByIPTables(t *testing.T) {
	c := newCluster(t, agentconfig.NetworkPolicy)
	c.namespace("one", 10)
	c.namespace("two", 11)
	one := c.node()
	one.startProxy("iptables")
	one.ready()
	idledServices(t, c, one)
}

// endpointsOutside: what a pod may not reach outside of the cluster network, it does not reach by a Service, of any namespace.
func endpointsOutside(t *testing.T, c *cluster, one *machine) {
	outside := netns.New(t, "outside")
	c.link.Run("ip", "link", "add", "outside", "type", "veth", "peer", "name", "eth0", "netns", outside.Name)
	c.link.Run("ip", "link", "set", "outside", "master", "sw0", "up")
	outside.Run("ip", "address", "add", "192.0.2.100/24", "dev", "eth0")
	outside.Run("ip", "link", "set", "eth0", "up")
	nodetest.Serve(t, outside, ":8080")
	nodetest.Serve(t, one.at, ":8080")
	service := func(name, address string) string {
		t.Helper()
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}}}
		c.create(s)
		c.create(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}}}, Ports: []discoveryv1.EndpointPort{{Name: new(""), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
		})
		return s.Spec.ClusterIP + ":80"
	}
	far, node := service("far", "192.0.2.100"), service("node", one.address.String())
	restricted, free := one.pod("one", "restricted", map[string]string{"app": "restricted"}), one.pod("two", "free", nil)
	reach := func(what string, from *pod, want map[string]bool) {
		t.Helper()
		eventually.Holds(t, what, func() (string, bool) {
			for address, reached := range want {
				if answer, err := nodetest.Ask(from.Namespace, address, time.Second); (err == nil) != reached {
					return fmt.Sprintf("%s: %q %v", address, answer, err), false
				}
			}
			return "", true
		})
	}
	all := map[string]bool{far: true, node: true}
	reach("nothing is restricted", restricted, all)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "egress"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "restricted"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}},
	}}
	c.create(policy)
	reach("a policy that allows pods alone", restricted, map[string]bool{far: false, node: false})
	late := one.pod("one", "late", map[string]string{"app": "restricted"})
	refused(t, late.Namespace, far) // at once: ADD returns when its rules exist
	refused(t, late.Namespace, node)
	apitest.Change(t, c.client, policy, func() {
		policy.Spec.Egress = append(policy.Spec.Egress, networkingv1.NetworkPolicyEgressRule{
			To:    []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.64/26", Except: []string{"192.0.2.101/32"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(8080))}},
		})
	})
	reach("a rule for the server and its port", restricted, map[string]bool{far: true, node: false})
	reach("other pods are free", free, all)
	firewall := egressFirewall("two", "192.0.2.100/32")
	c.create(firewall)
	reach("an egress firewall", free, map[string]bool{far: false, node: true})
	reach("a firewall is one of the client's namespace, not of the Service's", restricted, map[string]bool{far: true})
	for _, o := range []client.Object{policy, firewall} {
		if err := c.client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	reach("without them nothing is restricted", restricted, all)
	reach("without them nothing is restricted", free, all)
}

func egressFirewall(namespace, denied string) *sdnv1.EgressNetworkPolicy {
	return &sdnv1.EgressNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}, Spec: sdnv1.EgressNetworkPolicySpec{Egress: []sdnv1.EgressNetworkPolicyRule{
		{Type: sdnv1.EgressNetworkPolicyRuleDeny, To: sdnv1.EgressNetworkPolicyPeer{CIDRSelector: denied}},
	}}}
}

// idledServices: connections to idled Services are held back until there are endpoints, and are those of their clients then.
func idledServices(t *testing.T, c *cluster, one *machine) {
	const clients = 100
	a, forbidden := one.pod("one", "a", map[string]string{"app": "client"}), one.pod("one", "forbidden", nil)
	port := func(name string, protocol corev1.Protocol, target int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Protocol: protocol, Port: 80, TargetPort: intstr.FromInt32(target)}
	}
	web := c.idled("two", "web", true, port("web", corev1.ProtocolTCP, 8080), port("dns", corev1.ProtocolUDP, 5353))
	refused := c.idled("two", "none", false, port("web", corev1.ProtocolTCP, 8080))
	eventually.Holds(t, "the agent holds back packets, and kube-proxy refuses those to others", func() (string, bool) {
		out, _ := one.at.Try("nft", "list", "ruleset")
		_, err := nodetest.Ask(a.Namespace, refused.Spec.ClusterIP+":80", time.Second)
		return fmt.Sprint(err), strings.Contains(out, web.Spec.ClusterIP+" . tcp . 80") && errors.Is(err, syscall.ECONNREFUSED)
	})

	inPods := dialAll(t.Context(), a.Namespace, web.Spec.ClusterIP+":80", clients)
	byNode := dialAll(t.Context(), one.at, web.Spec.ClusterIP+":80", 1)
	byNodePort := dialAll(t.Context(), one.at, fmt.Sprintf("%s:%d", one.address, web.Spec.Ports[0].NodePort), 1)
	eventually.Holds(t, "pods are asked for", func() (string, bool) {
		events := c.needed(web)
		return fmt.Sprint(len(events)), len(events) > 0
	})
	if _, err := datagram(a.Namespace, web.Spec.ClusterIP+":80", 10); err == nil {
		t.Error("a datagram is answered although there is no endpoint")
	}
	metrics := func(name string) string {
		out := one.at.Run("curl", "-s", "http://"+one.config.NodeHealthAddress+"/metrics")
		for line := range strings.Lines(out) {
			if value, ok := strings.CutPrefix(line, "openshift_sdn_"+name+" "); ok {
				return strings.TrimSpace(value)
			}
		}
		return out
	}
	eventually.Holds(t, "packets are counted", func() (string, bool) {
		n := metrics("held_packets_total")
		var count int
		_, err := fmt.Sscan(n, &count)
		return n, err == nil && count >= clients
	})
	if n := metrics("arp_cache_entries"); n == "0" || n == "" {
		t.Errorf("the node has %s neighbors", n)
	}
	if n := metrics("idled_service_ports"); n != "4" {
		t.Errorf("%s ports are held back", n)
	}
	if n := metrics("repairs_total"); n != "0" {
		t.Errorf("the agent takes its own rules for those of a third party: %s repairs", n)
	}

	server := one.pod("two", "server", nil)
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "clients"}, Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}},
		}}}},
	}})
	nodetest.Serve(t, server.Namespace, ":8080")
	echo(t, server.Namespace, ":5353")
	eventually.Holds(t, "the policy is enforced", func() (string, bool) {
		answer, err := nodetest.Ask(forbidden.Namespace, server.address.String()+":8080", time.Second)
		return answer, err != nil
	})
	c.wake(web, server)
	answers, err := inPods()
	if err != nil || len(answers) != clients {
		t.Errorf("of %d connections %d were made: %v", clients, len(answers), err)
	}
	for _, answer := range answers {
		if answer != a.address.String() {
			t.Errorf("the server sees %s, the client is %s", answer, a.address)
		}
	}
	for what, wait := range map[string]func() ([]string, error){"the node": byNode, "a client of a NodePort": byNodePort} {
		if answers, err := wait(); err != nil {
			t.Errorf("the connection of %s: %q, %v", what, answers, err)
		}
	}
	if events := c.needed(web); len(events) > 2 {
		t.Errorf("%d Events ask for pods", len(events))
	} else if e := events[0]; e.LastTimestamp.IsZero() || e.Source.Component != "openshift-sdn-node" {
		t.Errorf("the Event is %+v", e)
	}
	eventually.Holds(t, "after the first datagram, which is lost, others are answered", func() (string, bool) {
		answer, err := datagram(a.Namespace, web.Spec.ClusterIP+":80", 10)
		return fmt.Sprint(answer, err), answer == "10"
	})
	if answer, err := nodetest.Ask(forbidden.Namespace, web.Spec.ClusterIP+":80", time.Second); err == nil {
		t.Errorf("a client that the policy forbids is answered %q", answer)
	}
	t.Run("rules that a third party changes are restored", func(t *testing.T) {
		one.at.Run("nft", "flush", "chain", "ip", "openshift-sdn-idle", "forward")
		eventually.Holds(t, "the rule is there", func() (string, bool) {
			out, _ := one.at.Try("nft", "list", "chain", "ip", "openshift-sdn-idle", "forward")
			return out, strings.Contains(out, "goto hold")
		})
	})
	t.Run("without unidling a connection is refused", func(t *testing.T) {
		late := c.idled("two", "late", true, port("web", corev1.ProtocolTCP, 8080))
		one.agent.Stop(t)
		one.config.EnableUnidling = false
		one.write()
		one.startAgent()
		one.ready()
		// The kernel limits how often it refuses connections of one client.
		client := one.pod("one", "late-client", nil)
		eventually.Holds(t, "the connection is refused", func() (string, bool) {
			_, err := nodetest.Ask(client.Namespace, late.Spec.ClusterIP+":80", time.Second)
			return fmt.Sprint(err), errors.Is(err, syscall.ECONNREFUSED)
		})
		if n := len(c.needed(late)); n != 0 {
			t.Errorf("%d Events ask for pods", n)
		}
	})
}
