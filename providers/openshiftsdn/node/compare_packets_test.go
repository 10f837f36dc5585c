package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// examine returns the findings of cno doctor as lines, and what cannot be compared.
func (c *cluster) examine(t *testing.T) (lines, missing []string) {
	t.Helper()
	found := openshiftsdn.New().Examine(t.Context(), provider.TraceAccess{Objects: c.client, Run: c.run})
	for _, s := range found.Symptoms {
		if s.Cause == "" || s.WayOut == "" {
			t.Errorf("%+v", s)
		}
		lines = append(lines, fmt.Sprintf("%s: %s", s.What, s.Cause))
	}
	return lines, found.Missing
}

// register creates what the operator and kubelets have created: the configuration of the agents, and Nodes.
func (c *cluster) register(t *testing.T) {
	t.Helper()
	data, err := c.nodes[0].config.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentconfig.Namespace}})
	c.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, Data: map[string]string{agentconfig.FileName: string(data)}})
	for name, status := range map[string]corev1.ConditionStatus{"node1": corev1.ConditionTrue, "node2": corev1.ConditionTrue, "gone": corev1.ConditionUnknown} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.create(n)
		apitest.ChangeStatus(t, c.client, n, func() { n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}} })
	}
}

// TestNodesAreComparedWithObjects: nodes as they should be have no differences; what the agent cannot repair is named with the node, the table and the object.
func TestNodesAreComparedWithObjects(t *testing.T) {
	c, one, two := running(t, agentconfig.NetworkPolicy)
	c.register(t)
	one.pod("one", "a", nil)
	two.pod("two", "b", nil)
	eventually.Holds(t, "nothing differs", func() (string, bool) {
		lines, missing := c.examine(t)
		return strings.Join(append(lines, missing...), "\n"), len(lines)+len(missing) == 0
	})
	// An egress IP that the node refuses, and one that no node has.
	c.assign("one", "203.0.113.9")
	c.assign("two", "203.0.113.10")
	one.has("203.0.113.9")
	// A pod that runs, and that no one has attached.
	lost := one.schedule("one", "lost", nil)
	lost.address = one.address
	lost.report()
	// A client that adds flows, and removes those of a pod, faster than the agent repairs them.
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	bridge := "unix:" + one.config.SwitchRunDir + "/br0.mgmt"
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = one.at.Try("ovs-ofctl", "-O", "OpenFlow15", "add-flow", bridge, "table=80,priority=60000,tcp,tp_dst=7,actions=drop")
			_, _ = one.at.Try("ovs-ofctl", "-O", "OpenFlow15", "del-flows", bridge, "table=70")
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	one.at.Run("ovs-ofctl", "-O", "OpenFlow15", "add-group", bridge, "group_id=7,type=all")
	one.at.Run("ovs-ofctl", "-O", "OpenFlow15", "add-meter", bridge, "meter=4000,kbps,band=type=drop,rate=1")
	wants := []string{
		"node node1: table 80 of br0 has 1 flow that no object asks for: ",
		"node node1: table 70 of br0 lacks ",
		"node node1: br0 has group 7, and the network has no groups",
		"node node1: namespace one (VNID 10) does not leave with egress IP 203.0.113.9: egress IP 203.0.113.9 is outside 192.0.2.0/24, the network of interface eth0",
		"node node1: pod one/lost runs with the address 192.0.2.1 and has no port of br0",
		"NetNamespace two: egress IPs cannot be used (EgressIPUnassigned): no node has egress IP 203.0.113.10",
	}
	eventually.Holds(t, "everything that differs is named, and only on node1", func() (string, bool) {
		lines, _ := c.examine(t)
		ok := !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "node node2") })
		for _, want := range wants {
			ok = ok && slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) })
		}
		return strings.Join(lines, "\n"), ok
	})
	one.agent.Stop(t)
	if _, missing := c.examine(t); len(missing) != 1 || !strings.HasPrefix(missing[0], "node node1: ") {
		t.Errorf("an agent that does not run: %q", missing)
	}
}
