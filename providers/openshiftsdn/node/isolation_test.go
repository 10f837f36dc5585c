package node_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// service has the kernel of the node translate a Service to an endpoint, as kube-proxy does.
func (m *machine) service(address string, to *pod, port int) {
	m.t.Helper()
	m.at.Run("nft", fmt.Sprintf("add table ip test; add chain ip test pre { type nat hook prerouting priority -100; }; add rule ip test pre ip daddr %s tcp dport %d dnat to %s:%d", address, port, to.address, port))
}

// refused reports that a connection is not made.
func refused(t *testing.T, from netns.Namespace, address string) {
	t.Helper()
	if answer, err := nodetest.Ask(from, address, time.Second); err == nil {
		t.Errorf("%s answers %q", address, answer)
	}
}

func TestMultitenantIsolation(t *testing.T) {
	c, one, two := running(t, agentconfig.Multitenant)
	c.namespace("global", 0)
	a, near, far, global := one.pod("one", "a", nil), one.pod("two", "near", nil), two.pod("two", "far", nil), two.pod("global", "g", nil)
	for _, p := range []*pod{a, near, far, global} {
		nodetest.Serve(t, p.Namespace, ":8080")
	}
	one.service("172.30.0.10", far, 8080)
	at := func(p *pod) string { return p.address.String() + ":8080" }
	nodetest.Answers(t, near.Namespace, at(far))
	nodetest.Answers(t, a.Namespace, at(global))
	nodetest.Answers(t, global.Namespace, at(a))
	if got := nodetest.Answers(t, near.Namespace, "172.30.0.10:8080"); got != near.address.String() {
		t.Errorf("by a Service the endpoint sees %s, the pod is %s", got, near.address)
	}
	for _, to := range []string{at(near), at(far), "172.30.0.10:8080"} {
		refused(t, a.Namespace, to)
	}
	refused(t, far.Namespace, at(a))
	const differ = "the VNIDs of source and destination differ"
	for _, row := range []traced{
		{why: "pods of one namespace", from: near, to: far, port: 8080, passes: true, named: "VNID 11"},
		{why: "a global namespace", from: a, to: global, port: 8080, passes: true},
		{why: "pods of two namespaces on a node", from: a, to: near, port: 8080, named: differ},
		{why: "and on two", from: a, to: far, port: 8080, named: differ},
		{why: "by a Service", from: near, to: far, port: 8080, service: "172.30.0.10:8080", passes: true, named: "answers of connections by a Service go to the kernel"},
		{why: "by a Service, of another namespace", from: a, to: far, port: 8080, service: "172.30.0.10:8080", named: differ},
	} {
		c.agrees(t, row)
	}
	traceWithoutPort(t, c, near, far)
	n := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	change := func(vnid uint32) {
		t.Helper()
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
			t.Fatal(err)
		}
		apitest.Change(t, c.client, n, func() { n.NetID = vnid })
	}
	change(11) // join
	for _, to := range []string{at(near), at(far), "172.30.0.10:8080"} {
		nodetest.Answers(t, a.Namespace, to)
	}
	change(10) // isolate
	eventually.Holds(t, "the namespaces are isolated", func() (string, bool) {
		answer, err := nodetest.Ask(a.Namespace, at(far), time.Second)
		return answer, err != nil
	})
	refused(t, a.Namespace, "172.30.0.10:8080")
	t.Run("multicast", func(t *testing.T) { multicasts(t, c, one, two) })
}

// echo answers datagrams with their length until the test ends.
func echo(t testing.TB, at netns.Namespace, address string) {
	t.Helper()
	var conn net.PacketConn
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) { conn, err = net.ListenPacket("udp", address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 9000)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo([]byte(fmt.Sprint(n)), from)
		}
	}()
}

// datagram sends one of some bytes, and returns the answer.
func datagram(from netns.Namespace, address string, size int) (answer string, err error) {
	err = ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := net.Dial("udp", address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		if _, err := conn.Write(make([]byte, size)); err != nil {
			return err
		}
		buffer := make([]byte, 16)
		n, err := conn.Read(buffer)
		answer = string(buffer[:n])
		return err
	})
	return answer, err
}

func TestPolicies(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	client, stranger := two.pod("two", "client", map[string]string{"app": "client"}), two.pod("one", "stranger", nil)
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "web"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": "two"}}}},
			Ports: []networkingv1.NetworkPolicyPort{
				{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(8080))}, {Protocol: new(corev1.ProtocolUDP), Port: new(intstr.FromInt32(5000))},
			},
		}},
	}})
	// The policy is known before: another pod that it selects shows it.
	probe := one.pod("one", "probe", map[string]string{"app": "web"})
	eventually.Holds(t, "the policy is enforced", func() (string, bool) {
		out, err := stranger.Try("ping", "-n", "-c", "1", "-W", "1", probe.address.String())
		return out, err != nil
	})
	t.Run("from the first packet", func(t *testing.T) {
		p := one.schedule("one", "first", map[string]string{"app": "web"})
		next := probe.address.Next().String()
		sent := make(chan string, 1)
		go func() {
			out, _ := stranger.Try("ping", "-n", "-i", "0.02", "-w", "4", next)
			sent <- out
		}()
		if err := p.add(); err != nil {
			t.Fatal(err)
		}
		if out := <-sent; p.address.String() != next || strings.Contains(out, "bytes from") {
			t.Errorf("packets have reached the isolated pod %s:\n%s", p.address, out)
		}
	})
	nodetest.Serve(t, probe.Namespace, ":8080")
	nodetest.Serve(t, probe.Namespace, ":8081")
	echo(t, probe.Namespace, ":5000")
	echo(t, probe.Namespace, ":5001")
	at := func(port int) string { return fmt.Sprintf("%s:%d", probe.address, port) }
	t.Run("what the rule admits, and nothing else", func(t *testing.T) {
		nodetest.Answers(t, client.Namespace, at(8080))
		refused(t, client.Namespace, at(8081))
		refused(t, stranger.Namespace, at(8080))
		nodetest.Answers(t, one.at, at(8081)) // the own node
		refused(t, two.at, at(8080))          // another one
		two.service("172.30.0.10", probe, 8080)
		nodetest.Answers(t, client.Namespace, "172.30.0.10:8080")
		refused(t, stranger.Namespace, "172.30.0.10:8080")
	})
	t.Run("cno trace agrees with the packets", func(t *testing.T) {
		one.notesKept(t, "NetworkPolicy one/web, ingress rule 0")
		const denied = "pod one/probe: no ingress rule of NetworkPolicy one/web allows it"
		for _, row := range []traced{
			{why: "what a rule admits", from: client, to: probe, port: 8080, passes: true, named: "NetworkPolicy one/web, ingress rule 0"},
			{why: "another port", from: client, to: probe, port: 8081, named: denied},
			{why: "a stranger", from: stranger, to: probe, port: 8080, named: denied},
			{why: "by a Service", from: client, to: probe, port: 8080, service: "172.30.0.10:8080", passes: true, named: "NetworkPolicy one/web, ingress rule 0"},
			{why: "a stranger by a Service", from: stranger, to: probe, port: 8080, service: "172.30.0.10:8080", named: denied},
			{why: "the own node", node: one, to: probe, port: 8081, passes: true, named: "the pod's own node always reaches it"},
			{why: "another node", node: two, to: probe, port: 8080, named: denied},
		} {
			c.agrees(t, row)
		}
	})
	t.Run("fragments", func(t *testing.T) {
		eventually.Holds(t, "a large datagram arrives", func() (string, bool) {
			answer, err := datagram(client.Namespace, at(5000), 4000)
			return fmt.Sprint(answer, err), answer == "4000"
		})
		for _, row := range []struct {
			why  string
			from *pod
			port int
		}{{"another port", client, 5001}, {"a stranger", stranger, 5000}} {
			if answer, err := datagram(row.from.Namespace, at(row.port), 4000); err == nil {
				t.Errorf("%s: the answer is %q", row.why, answer)
			}
		}
	})
	t.Run("a label takes effect without a restart", func(t *testing.T) {
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "probe"}}
		if err := c.client.Get(t.Context(), kubeKey(object), object); err != nil {
			t.Fatal(err)
		}
		apitest.Change(t, c.client, object, func() { object.Labels = nil })
		nodetest.Answers(t, stranger.Namespace, at(8080))
	})
	t.Run("one source port, by a Service and directly at once", func(t *testing.T) {
		if err := ns.WithNetNSPath(client.Path(), func(ns.NetNS) error {
			for _, address := range []string{"172.30.0.10:8080", at(8080)} {
				d := net.Dialer{Timeout: eventually.Limit, LocalAddr: &net.TCPAddr{IP: client.address.AsSlice(), Port: 40000}, Control: reuse}
				conn, err := d.Dial("tcp", address)
				if err != nil {
					return fmt.Errorf("connect to %s: %w", address, err)
				}
				defer conn.Close()
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("pods do not reach tunnels and the plumbing of Open vSwitch", func(t *testing.T) {
		if out, err := client.Try("ping", "-n", "-c", "1", "-W", "1", "169.254.100.2"); err == nil {
			t.Errorf("the link-local address answers:\n%s", out)
		}
	})
}
