package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// step has the agent of a node start again with a step of a migration, and waits until it reports that step.
func (m *machine) step(number, mtu, routable int) {
	m.t.Helper()
	m.stop()
	m.config.MTU = mtu
	m.config.Migration = &agentconfig.MTUMigration{Step: number, RoutableMTU: routable, PodNamespaces: "/run/netns"}
	m.ready()
	m.reports(fmt.Sprintf("step %d", number), func(s agentconfig.AgentStatus) bool { return s.Step == number && s.MTU == mtu })
}

// TestRunningPodsFollowAChangeOfTheMTU goes from 1450 to 1400 and back as the operator does: at every moment the nodes
// are one step apart, and whole packets of the sender's own length arrive.
func TestRunningPodsFollowAChangeOfTheMTU(t *testing.T) {
	one, two := vxlanPair(t)
	pod1, addr1 := one.pod("cni0")
	pod2, addr2 := two.pod("cni0")
	pings(t, pod1, addr2)
	for i, s := range []struct{ mtu, routable, sent int }{{1450, 0, 1450}, {1450, 1400, 1400}, {1400, 0, 1400}, {1450, 1400, 1400}, {1450, 0, 1450}} {
		before := 1450
		if i > 0 {
			before = 1400
		}
		one.step(i+1, s.mtu, s.routable)
		talk(t, pod1, addr2.String(), min(s.sent, before))
		talk(t, pod2, addr1.String(), min(s.sent, before))
		two.step(i+1, s.mtu, s.routable)
		talk(t, pod2, addr1.String(), s.sent)
		if out := pod1.Run("ip", "link", "show", "eth0"); !strings.Contains(out, fmt.Sprintf("mtu %d ", s.mtu)) {
			t.Errorf("step %d: the pod has %s, want %d", i+1, out, s.mtu)
		}
		limited := 0
		if s.routable != 0 {
			limited = 2 // the default route, and that to its own node
		}
		if out := pod1.Run("ip", "route"); strings.Count(out, " mtu 1400") != limited {
			t.Errorf("step %d: the pod's routes are\n%s", i+1, out)
		}
		if out := one.netns.Run("ip", "link", "show", "cni0"); !strings.Contains(out, fmt.Sprintf("mtu %d ", s.mtu)) {
			t.Errorf("step %d: the bridge has %s, want %d", i+1, out, s.mtu)
		}
	}
}

// talk sends one packet of a length that must not be split.
func talk(t *testing.T, from netns.Namespace, to string, length int) {
	t.Helper()
	from.Run("ping", "-n", "-c", "1", "-W", "5", "-M", "do", "-s", fmt.Sprint(length-28), to)
}

// TestPodsWithoutABridgeAreReported deletes the bridge below a pod, as an uninstallation does, and attaches the pod again.
func TestPodsWithoutABridgeAreReported(t *testing.T) {
	seg := newSegment(t)
	seg.reserve("node1", "10.1.15.0/24")
	m := seg.node("node1", "192.168.0.100")
	m.ready()
	m.pod("cni0")
	m.netns.Run("ip", "link", "set", "pod", "name", "veth0a1b2c3d")
	m.netns.Run("ip", "link", "add", "other", "type", "veth", "peer", "name", "another")
	ptp := netns.New(t, "ptp")
	m.netns.Run("ip", "link", "add", "veth5e6f7a8b", "type", "veth", "peer", "name", "eth0", "netns", ptp.Name)
	m.netns.Run("ip", "address", "add", "10.9.0.1/32", "dev", "veth5e6f7a8b")
	result := `{"kind": "cniCacheV1", "cniArgs": [["K8S_POD_NAMESPACE", "shop"], ["K8S_POD_NAME", "web"]], "result": {"interfaces": [{"name": "cni0"}, {"name": "veth0a1b2c3d"}]}}`
	if err := os.WriteFile(filepath.Join(m.config.CNI.ResultsDir, "cbr0-0a-eth0"), []byte(result), 0o600); err != nil {
		t.Fatal(err)
	}
	m.netns.Run("ip", "link", "delete", "cni0")
	m.reports("one pod without a bridge, by its name", func(s agentconfig.AgentStatus) bool {
		return s.DetachedPods == 1 && slices.Equal(s.Detached, []string{"shop/web"})
	})
	m.netns.Run("ip", "link", "add", "cni0", "type", "bridge")
	m.netns.Run("ip", "link", "set", "veth0a1b2c3d", "master", "cni0")
	m.reports("no pod without a bridge", func(s agentconfig.AgentStatus) bool { return s.DetachedPods == 0 && s.Detached == nil })
}
