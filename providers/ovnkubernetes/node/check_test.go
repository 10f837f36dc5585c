package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// check runs the comparison of the node, and returns what it finds.
func (m *machine) check() []string {
	m.t.Helper()
	return m.compared(agentconfig.CommandCheckNode, m.settings())
}

// agrees waits until the comparison of a node finds nothing.
func (m *machine) agrees(when string) {
	m.t.Helper()
	eventually.Holds(m.t, m.name+" agrees with the API "+when, func() (string, bool) {
		found := m.check()
		return strings.Join(found, "\n"), len(found) == 0
	})
}

// runs sets the phase of a pod to Running.
func (p *pod) runs() {
	p.m.t.Helper()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.m.ns, Name: p.name}}
	if err := p.m.api.Client.Get(p.m.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		p.m.t.Fatal(err)
	}
	apitest.ChangeStatus(p.m.t, p.m.api.Client, object, func() { object.Status.Phase = corev1.PodRunning })
}

func (m *machine) vsctl(arguments ...string) string {
	m.t.Helper()
	return netns.Run(m.t, append([]string{"ovs-vsctl", "--db=unix:" + m.run + "/ovs/db.sock", "--timeout=60"}, arguments...)...)
}

// portOf is the port of a pod in Open vSwitch.
func (p *pod) portOf() string {
	p.m.t.Helper()
	return strings.TrimSpace(p.m.vsctl("--bare", "--columns=name", "find", "Interface", "external_ids:sandbox="+p.Namespace.Name))
}

// TestNodeCheckFindsStaleAndMissingState plants what belongs to nothing in Open vSwitch, the kernel and the agent's files, and removes some of
// what belongs to a pod, while no agent runs that would repair it.
func TestNodeCheckFindsStaleAndMissingState(t *testing.T) {
	c := running(t)
	one := c.nodes[0]
	a, b, deleted := one.pod("a"), one.pod("b"), one.pod("deleted")
	for _, p := range []*pod{a, b, deleted} {
		p.runs()
	}
	for _, m := range c.nodes {
		m.agrees("after pods have started")
	}
	one.kill("ovn-node")
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "deleted"}}
	if err := c.api.Client.Delete(t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	one.vsctl("del-port", topology.IntegrationBridge, b.portOf())
	one.vsctl("--no-wait", "add-port", topology.IntegrationBridge, "ovnpstale", "--", "set", "Interface", "ovnpstale", "external_ids:sandbox=old", "external_ids:iface-id=shop_old")
	one.vsctl("add-port", topology.IntegrationBridge, "ovn-old-0", "--", "set", "Interface", "ovn-old-0", "type=geneve", "options:remote_ip=192.0.2.99", "options:key=flow")
	netns.Run(t, "ip", "-n", one.vswitchNS, "link", "add", "ovnpleft", "type", "veth", "peer", "name", "left")
	netns.Run(t, "ovs-ofctl", "add-flow", "unix:"+one.run+"/ovs/br-int.mgmt", "cookie=0xdead0001,table=200,priority=1,actions=drop")
	one.at.Run("ip", "route", "add", "10.200.0.0/16", "via", "10.128.0.1", "dev", topology.ManagementLink, "proto", "118")
	one.at.Run("ip", "route", "delete", serviceNetwork)
	one.at.Run("nft", "flush", "chain", "ip", "ovn-kubernetes", "postrouting")
	found := one.check()
	for _, want := range []string{
		fmt.Sprintf("CNI records: stale: record of sandbox %q, interface eth0 (pod %s/deleted): the pod does not exist", deleted.Namespace.Name, c.ns),
		fmt.Sprintf("Open vSwitch: missing: the port of %s (pod %s/b)", b.port(), c.ns),
		"Open vSwitch: stale: port ovnpstale (pod shop/old)",
		"tunnels: stale: tunnel ovn-old-0 to 192.0.2.99 (node node1)",
		"interfaces: stale: interface ovnpleft (no pod)",
		"flows: stale: flows with cookie 0xdead0001 (node node1)",
		"management port: stale: route to 10.200.0.0/16 (node node1)",
		"management port: missing: route to " + serviceNetwork + " (node node1)",
		"management port: different: table ip ovn-kubernetes of nftables (node node1)",
	} {
		i := slices.IndexFunc(found, func(f string) bool { return strings.HasPrefix(f, want) })
		if i < 0 {
			t.Errorf("not found: %s", want)
			continue
		}
		found = slices.Delete(found, i, i+1)
	}
	if len(found) > 0 {
		t.Errorf("nothing of that kind was planted:\n%s", strings.Join(found, "\n"))
	}
	// What is left is removed as described in the ways out, the rest by the agent.
	netns.Run(t, "ip", "-n", one.vswitchNS, "link", "delete", "ovnpleft")
	one.vsctl("del-port", topology.IntegrationBridge, "ovn-old-0")
	one.stop("ovn-controller")
	one.start("ovn-controller")
	one.start("ovn-node")
	one.ready()
	if err := deleted.del(); err != nil {
		t.Errorf("DEL of a pod that was deleted: %v", err)
	}
	one.agrees("after repairs")
}
