package node_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/finding"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// governed is a cluster of two nodes with a master on the first one, which gives blocks and addresses and writes the databases.
func governed(t testing.TB) *cluster {
	t.Helper()
	return governedOn(t, 6081)
}

// governedOn is governed with a UDP port of Geneve.
func governedOn(t testing.TB, port int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.port = port
	c.govern()
	return c
}

// govern starts two nodes with a master on the first one.
func (c *cluster) govern() {
	c.t.Helper()
	c.masterAccount()
	for range 2 {
		c.node()
	}
	for _, command := range []string{"nb-ovsdb", "sb-ovsdb", "run-ovn-northd", "ovn-master"} {
		c.nodes[0].start(command)
	}
	for _, m := range c.nodes {
		m.register()
	}
	for _, m := range c.nodes {
		m.ready()
	}
}

// masterAccount creates the namespace with the lease of masters, and their account.
func (c *cluster) masterAccount() {
	c.t.Helper()
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentconfig.Namespace}})
	account := c.api.ServiceAccount(c.t, c.ns, "master")
	c.masterToken = filepath.Join(c.t.TempDir(), "token")
	c.write(c.masterToken, account.BearerToken)
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "master"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.ns, Name: "master"}},
	})
}

// register creates the Node, which is Ready, and starts what runs on every node.
func (m *machine) register() {
	m.t.Helper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name}}
	m.create(object)
	apitest.ChangeStatus(m.t, m.api.Client, object, func() {
		for _, a := range m.addresses {
			object.Status.Addresses = append(object.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a.String()})
		}
		object.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
	for _, command := range []string{"ovs-server", "ovn-controller", "ovn-node"} {
		m.start(command)
	}
}

// masterArguments are those of the master of the node.
func (m *machine) masterArguments() []string {
	return append(m.settings(), "--k8s-token", m.masterToken)
}

// governedPod adds a pod to which the master gives addresses, and which runs from then on.
func (m *machine) governedPod(name string) *pod {
	m.t.Helper()
	p := m.addressed(name)
	if err := p.add(); err != nil {
		m.t.Fatalf("ADD of %s: %v", name, err)
	}
	p.runs()
	return p
}

// addressed creates a pod with a label for its name, and waits until the master has given it addresses. Nothing is attached yet.
func (m *machine) addressed(name string) *pod {
	m.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: m.ns, Name: name, Labels: map[string]string{"name": name}}, Spec: corev1.PodSpec{NodeName: m.name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}}}
	m.create(object)
	p := &pod{Namespace: netns.New(m.t, name), m: m, name: name, uid: string(object.UID)}
	eventually.Holds(m.t, "pod "+name+" has addresses", func() (string, bool) {
		err := m.api.Client.Get(m.t.Context(), client.ObjectKeyFromObject(object), object)
		if err == nil {
			p.given, err = topology.DecodePod(object.Annotations[topology.PodNetworks])
		}
		return fmt.Sprint(err), err == nil
	})
	return p
}

// remove deletes a pod as the kubelet does: its sandbox, then the object.
func (p *pod) remove() {
	p.m.t.Helper()
	if err := p.del(); err != nil {
		p.m.t.Errorf("DEL of %s: %v", p.name, err)
	}
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.m.ns, Name: p.name}}
	if err := p.m.api.Client.Delete(p.m.t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		p.m.t.Error(err)
	}
}

// agreesWhole waits until nothing is found on any node, and in no database.
func (c *cluster) agreesWhole(when string) {
	c.t.Helper()
	eventually.Holds(c.t, "the databases agree with the API "+when, func() (string, bool) {
		one := c.nodes[0]
		found := one.compared(agentconfig.CommandCheckMaster, one.masterArguments())
		return strings.Join(found, "\n"), len(found) == 0
	})
	for _, m := range c.nodes {
		m.agrees(when)
	}
}

// compared runs a comparison on the node, and returns what it finds.
func (m *machine) compared(command string, settings []string) []string {
	m.t.Helper()
	out, err := m.at.Try(append([]string{"env", agentconfig.VariableNode + "=" + m.name, program, command, "--" + agentconfig.FlagJSON}, settings...)...)
	if err != nil {
		return []string{fmt.Sprintf("%v: %s", err, out)}
	}
	// Messages of the log come before.
	report, err := finding.Decode([]byte(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]))
	if err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	found := append([]string{}, report.Incomplete...)
	for _, f := range report.Findings {
		found = append(found, f.String())
	}
	return found
}

// processOf returns the process of the node whose command line has a text, empty if it does not run.
func processOf(text string) string {
	out, _ := exec.Command("pgrep", "-f", "^"+text).Output()
	return strings.TrimSpace(string(out))
}
