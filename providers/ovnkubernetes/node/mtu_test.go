package node_test

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// reporting creates the pod of a node's agent, and starts the agent again with its name.
func (m *machine) reporting() {
	m.t.Helper()
	m.reporter = "ovnkube-" + m.name
	m.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: m.reporter},
		Spec:       corev1.PodSpec{NodeName: m.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
	})
	m.processes["ovn-node"].Stop(m.t)
	m.start("ovn-node")
	m.ready()
}

// step writes a step of a change of the MTU, as the kubelet does while the agent runs, and waits until the agent reports it.
func (m *machine) step(s mtumigration.State) {
	m.t.Helper()
	text, err := agentconfig.MTU{MTU: s.MTU, Migration: s.Migration("")}.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	// The kubelet replaces the file as a whole.
	if err := os.WriteFile(m.mtuFile()+".new", []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Rename(m.mtuFile()+".new", m.mtuFile()); err != nil {
		m.t.Fatal(err)
	}
	want, err := s.Encode()
	if err != nil {
		m.t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: m.reporter}}
	eventually.Holds(m.t, fmt.Sprintf("%s reports %s", m.name, want), func() (string, bool) {
		err := m.api.Client.Get(m.t.Context(), client.ObjectKeyFromObject(pod), pod)
		return pod.Annotations[mtumigration.Annotation] + fmt.Sprint(err), err == nil && pod.Annotations[mtumigration.Annotation] == want
	})
}

// TestNoPacketIsLostWhileTheMTUChanges lowers and raises the MTU of two nodes as the operator does, while pods and nodes send packets of all lengths that
// they may.
func TestNoPacketIsLostWhileTheMTUChanges(t *testing.T) {
	const long, short = podMTU, 1350
	c := running(t)
	one, two := c.nodes[0], c.nodes[1]
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentconfig.Namespace}})
	c.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: "report"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch"}}}})
	c.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: "report"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "report"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.ns, Name: "node"}},
	})
	a, b, far := one.pod("a"), one.pod("b"), two.pod("far")
	one.reporting()
	two.reporting()
	nodetest.Reaches(t, a.Namespace, far.addr(), long)
	nodetest.Reaches(t, one.at, far.addr(), long)
	streams := []*nodetest.FullSize{
		nodetest.SendFullSize(t, "pod to a pod of another node", a.Namespace, far.Namespace, far.addr()),
		nodetest.SendFullSize(t, "pod of another node to a pod", far.Namespace, a.Namespace, a.addr()),
		nodetest.SendFullSize(t, "pod to a pod of its node", a.Namespace, b.Namespace, b.addr()),
		nodetest.SendFullSize(t, "node to its pod", one.at, b.Namespace, b.addr()),
		nodetest.SendFullSize(t, "node to a pod of another node", one.at, far.Namespace, far.addr()),
	}
	for _, s := range []mtumigration.State{{MTU: long}, {MTU: long, Step: 1, RoutableMTU: short}, {MTU: short, Step: 2}, {MTU: long, Step: 3, RoutableMTU: short}, {MTU: long, Step: 4}, {MTU: long}} {
		for _, m := range []*machine{one, two} {
			m.step(s)
		}
		nodetest.HasMTU(t, a.Namespace, "eth0", s.MTU, s.RoutableMTU)
		nodetest.HasMTU(t, far.Namespace, "eth0", s.MTU, s.RoutableMTU)
		nodetest.HasMTU(t, one.at, topology.ManagementLink, s.MTU, s.RoutableMTU)
	}
	for _, s := range streams {
		s.Check(t, nodetest.LostWithRoutes, long, short)
	}
	// Pods that start have the MTU and the limit of the step.
	for _, s := range []mtumigration.State{{MTU: long, Step: 1, RoutableMTU: short}, {MTU: short, Step: 2}} {
		one.step(s)
		nodetest.HasMTU(t, one.pod(fmt.Sprintf("young%d", s.Step)).Namespace, "eth0", s.MTU, s.RoutableMTU)
	}
}
