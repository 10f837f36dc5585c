package node_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/agent/agentfile"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/nodetest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

// step has the agent of a node start again with a step of a change of the MTU, as a rollout of its DaemonSet does, and waits until it has done it.
func (m *machine) step(number, mtu, routable int) {
	m.t.Helper()
	m.agent.Stop(m.t)
	m.config.MTU, m.config.Migration = mtu, &agentfile.MTUMigration{Step: number, RoutableMTU: routable}
	m.write()
	m.startAgent()
	m.ready()
}

// TestNoPacketIsLostWhileTheMTUChanges lowers and raises the MTU of two nodes as the operator does, while pods and nodes send packets of all lengths that
// they may.
func TestNoPacketIsLostWhileTheMTUChanges(t *testing.T) {
	const long, short = podMTU, 1400
	_, one, two := running(t, agentconfig.NetworkPolicy)
	a, b, far := one.pod("one", "a", nil), one.pod("one", "b", nil), two.pod("two", "far", nil)
	nodetest.Reaches(t, a.Namespace, far.address, long)
	nodetest.Reaches(t, one.at, far.address, long)
	streams := []*nodetest.FullSize{
		nodetest.SendFullSize(t, "pod to a pod of another node", a.Namespace, far.Namespace, far.address),
		nodetest.SendFullSize(t, "pod of another node to a pod", far.Namespace, a.Namespace, a.address),
		nodetest.SendFullSize(t, "pod to a pod of its node", a.Namespace, b.Namespace, b.address),
		nodetest.SendFullSize(t, "node to its pod", one.at, b.Namespace, b.address),
		nodetest.SendFullSize(t, "node to a pod of another node", one.at, far.Namespace, far.address),
	}
	for i, s := range []struct{ mtu, routable int }{{long, short}, {short, 0}, {long, short}, {long, 0}} {
		for _, m := range []*machine{one, two} {
			m.step(i+1, s.mtu, s.routable)
		}
		nodetest.HasMTU(t, a.Namespace, "eth0", s.mtu, s.routable)
		nodetest.HasMTU(t, far.Namespace, "eth0", s.mtu, s.routable)
		nodetest.HasMTU(t, one.at, agentconfig.Tunnel, s.mtu, s.routable)
	}
	for _, s := range streams {
		s.Check(t, nodetest.LostWithRoutes, long, short)
	}
}

// TestPodsThatStartWhileTheMTUChangesHaveThatOfTheStep starts pods in each step. A pod without its interface keeps the agent from being ready, but no pod from starting.
func TestPodsThatStartWhileTheMTUChangesHaveThatOfTheStep(t *testing.T) {
	c := newCluster(t, agentconfig.Subnet)
	c.namespace("one", 10)
	m := c.node()
	m.ready()
	for i, s := range []struct{ mtu, routable int }{{podMTU, 1400}, {1400, 0}} {
		m.step(i+1, s.mtu, s.routable)
		nodetest.HasMTU(t, m.pod("one", fmt.Sprintf("young%d", i), nil).Namespace, "eth0", s.mtu, s.routable)
	}
	broken := m.pod("one", "broken", nil)
	broken.Run("ip", "link", "set", "eth0", "down")
	broken.Run("ip", "link", "set", "eth0", "name", "other")
	m.agent.Stop(t)
	m.config.MTU, m.config.Migration = podMTU, &agentfile.MTUMigration{Step: 3, RoutableMTU: 1400}
	m.write()
	m.startAgent()
	eventually.Holds(t, "the agent is not ready and names the pod", func() (string, bool) {
		out, err := m.at.Try("curl", "-s", "--fail-with-body", "http://"+m.config.NodeHealthAddress+"/readyz")
		return out, err != nil && strings.Contains(out, "the MTU of pod one/broken cannot be changed; start the pod again")
	})
	nodetest.HasMTU(t, m.pod("one", "late", nil).Namespace, "eth0", podMTU, 1400)
	if err := broken.del(); err != nil {
		t.Fatal(err)
	}
	m.ready()
}
