package node_test

import (
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
)

func TestPodsTalk(t *testing.T) {
	c := running(t)
	one, two := c.nodes[0], c.nodes[1]
	a, b, far := one.pod("a"), one.pod("b"), two.pod("far")
	for _, p := range []*pod{a, b, far} {
		nodetest.Serve(t, p.Namespace, ":8080")
	}
	t.Run("pods of one node and of two", func(t *testing.T) {
		for _, p := range []*pod{b, far} {
			nodetest.Reaches(t, a.Namespace, p.addr(), podMTU)
			if got := nodetest.Answers(t, a.Namespace, p.addr().String()+":8080"); got != a.addr().String() {
				t.Errorf("%s sees %s as the client, which is %s", p.name, got, a.addr())
			}
		}
		nodetest.Reaches(t, far.Namespace, b.addr(), podMTU)
	})
	t.Run("nodes reach pods, and pods nodes", func(t *testing.T) {
		for _, m := range c.nodes {
			for _, p := range []*pod{a, far} {
				nodetest.Reaches(t, m.at, p.addr(), podMTU)
				nodetest.Answers(t, m.at, p.addr().String()+":8080")
				nodetest.Reaches(t, p.Namespace, m.address, podMTU)
			}
		}
	})
	t.Run("pods leave the cluster with the address of their node", func(t *testing.T) {
		outside := netns.New(t, "outside")
		c.link.Run("ip", "link", "add", "outside", "type", "veth", "peer", "name", "eth0", "netns", outside.Name)
		c.link.Run("ip", "link", "set", "outside", "master", "sw0", "up")
		outside.Run("ip", "address", "add", "192.0.2.100/24", "dev", "eth0")
		outside.Run("ip", "link", "set", "eth0", "up")
		nodetest.Serve(t, outside, ":80")
		for _, p := range []*pod{a, far} {
			if got := nodetest.Answers(t, p.Namespace, "192.0.2.100:80"); got != p.m.address.String() {
				t.Errorf("the server outside sees %s, the node of the pod is %s", got, p.m.address)
			}
		}
		// A client outside that has a route, or whose connection was translated by the node, is seen by pods of the node.
		outside.Run("ip", "route", "add", clusterNetwork, "via", one.address.String())
		if got := nodetest.Answers(t, outside, a.addr().String()+":8080"); got != "192.0.2.100" {
			t.Errorf("a pod of the node sees %s instead of its client's address", got)
		}
		if got := nodetest.Answers(t, outside, far.addr().String()+":8080"); got == "192.0.2.100" {
			t.Error("a pod of another node sees the client's address, so that its answers leave at the wrong node")
		}
	})
	t.Run("a service of OVN's load balancer", func(t *testing.T) {
		c.nbctl("lb-add", "web", "172.30.0.10:80", a.addr().String()+":8080,"+far.addr().String()+":8080", "tcp", "--", "ls-lb-add", one.name, "web", "--", "ls-lb-add", two.name, "web")
		nodetest.Answers(t, b.Namespace, "172.30.0.10:80")
		nodetest.Answers(t, far.Namespace, "172.30.0.10:80")
		nodetest.Answers(t, one.at, "172.30.0.10:80")
	})
	t.Run("host ports", func(t *testing.T) {
		p := one.schedule("mapped")
		p.mappings = map[int]int{8080: 30080}
		p.give()
		if err := p.add(); err != nil {
			t.Fatal(err)
		}
		nodetest.Serve(t, p.Namespace, ":8080")
		nodetest.Answers(t, two.at, one.address.String()+":30080")
	})
	t.Run("repeated requests", func(t *testing.T) {
		if err := a.add(); err != nil {
			t.Errorf("ADD again: %v", err)
		}
		if err := a.check(); err != nil {
			t.Errorf("CHECK: %v", err)
		}
		a.Run("ip", "address", "flush", "dev", "eth0")
		if err := a.check(); err == nil || !strings.Contains(err.Error(), "lacks address "+a.given.Addresses[0].String()) {
			t.Errorf("CHECK of a pod without address: %v", err)
		}
		for range 2 {
			if err := a.del(); err != nil {
				t.Errorf("DEL: %v", err)
			}
		}
		if out := a.Run("ip", "-br", "link"); strings.Contains(out, "eth0") {
			t.Errorf("after DEL the pod has %s", out)
		}
	})
}

// TestAPolicyIsolatesAPodFromItsFirstPacket has a client try to reach pods while they start. The kernel of each pod counts what reaches it.
func TestAPolicyIsolatesAPodFromItsFirstPacket(t *testing.T) {
	c := governedOn(t, 6082) // and tunnels may have another port
	one, two := c.nodes[0], c.nodes[1]
	client := two.governedPod("client")
	c.create(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "deny"}, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"open", "client"}}}},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	}})
	attempt := func(name string) (*pod, string) {
		p := one.addressed(name)
		sent := make(chan string, 1)
		go func() {
			out, _ := client.Try("ping", "-n", "-i", "0.02", "-w", "3", p.addr().String())
			sent <- out
		}()
		if err := p.add(); err != nil {
			t.Fatal(err)
		}
		out := <-sent
		return p, out + p.Run("grep", "^Icmp:", "/proc/self/net/snmp")
	}
	if _, out := attempt("open"); !strings.Contains(out, "bytes from") {
		t.Fatalf("a pod without a policy is not reached, so that this test cannot see anything:\n%s", out)
	}
	if out := netns.Run(t, "ovs-vsctl", "--db=unix:"+one.run+"/ovs/db.sock", "--bare", "--columns=options", "find", "Interface", "type=geneve"); !strings.Contains(out, "dst_port=6082") {
		t.Errorf("the tunnel does not have the configured port: %s", out)
	}
	for i := range 5 {
		p, out := attempt(fmt.Sprintf("closed%d", i))
		if counters := strings.Fields(out[strings.LastIndex(out, "Icmp:"):]); strings.Contains(out, "bytes from") || counters[1] != "0" {
			t.Errorf("packets have reached the isolated pod:\n%s", out)
		}
		p.remove()
	}
}
