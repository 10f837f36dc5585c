package node_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// disconnect ends the connections of the node to the API server, and refuses others until connect is called. It returns when the node has none.
func (m *machine) disconnect(t *testing.T) (connect func()) {
	t.Helper()
	server, err := url.Parse(m.api.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	port := server.Port()
	m.at.Run("nft", fmt.Sprintf("add table inet outage; add chain inet outage output { type filter hook output priority 0; }; add rule inet outage output tcp dport %s reject with tcp reset; add rule inet outage output tcp sport %s reject with tcp reset", port, port))
	eventually.Holds(t, m.name+" has no connection to the API server", func() (string, bool) {
		out := m.at.Run("ss", "-Htn", "state", "established", "dport = :"+port)
		return out, strings.TrimSpace(out) == ""
	})
	return func() { m.at.Run("nft", "delete", "table", "inet", "outage") }
}

// TestTheAPIServerIsUnreachableWhileEverythingChanges: traffic continues during the outage, with the flows of the last objects. Afterwards all changes take effect, and
// other traffic loses no packet, in one bundle on each node.
func TestTheAPIServerIsUnreachableWhileEverythingChanges(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	c.namespace("quiet", 12)
	for _, m := range c.nodes {
		m.recordBundles(t)
		m.agent.Kill()
		m.startAgent()
		m.ready()
	}
	web, caller := one.pod("one", "web", map[string]string{"app": "web"}), two.pod("two", "client", map[string]string{"app": "client"})
	from, to := one.pod("quiet", "from", nil), two.pod("quiet", "to", nil)
	nodetest.Serve(t, web.Namespace, ":8080")
	nodetest.Serve(t, web.Namespace, ":8081")
	at := func(port int) string { return fmt.Sprintf("%s:%d", web.address, port) }
	nodetest.Answers(t, caller.Namespace, at(8080))
	nodetest.Reaches(t, from.Namespace, to.address, podMTU)
	update := func(object client.Object, change func()) {
		t.Helper()
		if err := c.client.Get(t.Context(), kubeKey(object), object); err != nil {
			t.Fatal(err)
		}
		apitest.Change(t, c.client, object, change)
	}
	// A busy machine may lose some packets of its own: what agents lose is lost each time.
	for attempt := 1; ; attempt++ {
		end := stream(t, from, to)
		var connect []func()
		for _, m := range c.nodes {
			connect = append(connect, m.disconnect(t))
		}
		label := fmt.Sprint("attempt-", attempt)
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "web"}, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"attempt": label}}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"attempt": label}},
				}},
				Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(8081))}},
			}},
		}}
		c.create(policy)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "two"}}
		update(namespace, func() { namespace.Labels["attempt"] = label })
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "two", Name: "client"}}
		update(object, func() { object.Labels["attempt"] = label })
		vnid := &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: "two"}}
		update(vnid, func() { vnid.NetID += 100 })
		nodetest.Answers(t, caller.Namespace, at(8080)) // as before
		before := []int{one.bundles(t), two.bundles(t)}
		for _, again := range connect {
			again()
		}
		eventually.Holds(t, "the policy takes effect", func() (string, bool) {
			answer, err := nodetest.Ask(caller.Namespace, at(8080), time.Second)
			return answer, err != nil
		})
		nodetest.Answers(t, caller.Namespace, at(8081)) // by the labels of namespace and pod, and with the VNID that both nodes have
		for i, m := range c.nodes {
			if n := m.bundles(t) - before[i]; n != 1 {
				t.Errorf("attempt %d: the agent of %s applies %d bundles after the outage", attempt, m.name, n)
			}
		}
		lost, sent := end()
		if sent < 50 {
			t.Fatalf("only %d packets were sent", sent)
		}
		if err := c.client.Delete(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
		nodetest.Answers(t, caller.Namespace, at(8080))
		if lost == 0 {
			return
		}
		t.Logf("lost: %d of %d packets", lost, sent)
		if attempt == 3 {
			t.Fatal("packets are lost each time")
		}
	}
}
