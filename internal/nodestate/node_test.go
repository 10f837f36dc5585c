package nodestate

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/status"
)

// podCIDRs returns the blocks of a Node in its specification.
func podCIDRs(n *corev1.Node) (blocks []netip.Prefix) {
	for _, text := range n.Spec.PodCIDRs {
		blocks = append(blocks, netip.MustParsePrefix(text))
	}
	return blocks
}

func cluster() *Cluster {
	return &Cluster{
		Agents: AgentsOf([]provider.Agent{{Namespace: "ns", Name: "agent"}, {Namespace: "ns", Name: "ovs"}}), Blocks: podCIDRs,
		Pools: Pools([]operatorv1.ClusterNetworkEntry{{CIDR: "10.1.2.3/8", HostPrefix: 24}, {CIDR: "wrong"}, {CIDR: "fd00::/48", HostPrefix: 64}, {CIDR: "172.16.0.0/12"}}),
	}
}

func aNode(ready corev1.ConditionStatus, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if ready != "" {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeDiskPressure}, {Type: corev1.NodeReady, Status: ready, Reason: "R", Message: "m"}}
	}
	for _, f := range change {
		f(n)
	}
	return n
}

// aPod is a pod of a DaemonSet on the pod network.
func aPod(owner, name, image string, ready corev1.ConditionStatus, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: owner, Controller: new(true)}}}}
	p.Spec.Containers = []corev1.Container{{Image: image}, {Image: "sidecar:v9"}}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	for _, f := range change {
		f(p)
	}
	return p
}

func with(ips ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
	}
}

// of returns what is known of a node with these pods.
func of(c *Cluster, n *corev1.Node, all ...*corev1.Pod) Node {
	var pods Pods
	for _, p := range all {
		c.Add(&pods, p)
	}
	return c.Of(n, &pods)
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func TestTheStateOfANodeIsItsWorstProblem(t *testing.T) {
	broken := aPod("agent", "p", "i", "False")
	crashing := aPod("agent", "q", "i", "False", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 9, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "no route"}}}}
	})
	foreign := aPod("agent", "p", "i", "False", func(p *corev1.Pod) { p.Labels = nil })
	bare := aPod("agent", "p", "i", "False", func(p *corev1.Pod) { p.OwnerReferences = nil })
	ended := aPod("agent", "p", "i", "False", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	deleted := aPod("agent", "p", "i", "False", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} })
	problems := func(c *Cluster) {
		c.Unreachable = map[string]string{"a": "cannot be reached", "b": "x"}
		c.Fights = map[string][]string{"a": {"flows", "routes"}, "b": {"x"}}
		c.Hosts = map[string]string{"a": "no eth1", "b": "x"}
	}
	for _, row := range []struct {
		why     string
		change  func(*Cluster)
		node    *corev1.Node
		pods    []*corev1.Pod
		state   State
		message string
	}{
		{"it works", nil, aNode("True"), []*corev1.Pod{aPod("agent", "p", "i", "True")}, Ready, ""},
		{"its kubelet never reported", problems, aNode(""), []*corev1.Pod{broken}, NotReady, "its kubelet has never reported"},
		{"its kubelet does not answer", problems, aNode("Unknown", cordoned), []*corev1.Pod{broken}, NotReady, "R: m"},
		{"its kubelet waits for the network", problems, aNode("False", cordoned), []*corev1.Pod{broken}, NotReady, "pod ns/p is not ready; R: m"},
		{"a kubelet without a message", nil, aNode("False", func(n *corev1.Node) { n.Status.Conditions[1].Message = "" }), nil, NotReady, "R"},
		{"a pod of the network is not ready", problems, aNode("True", cordoned), []*corev1.Pod{broken}, AgentNotReady, "pod ns/p is not ready"},
		{"the worst of two pods is first", nil, aNode("True"), []*corev1.Pod{broken, crashing}, AgentNotReady,
			"pod ns/q is in CrashLoopBackOff State (container c ended with exit code 1: no route); pod ns/p is not ready"},
		{"a pod of another owner", nil, aNode("True"), []*corev1.Pod{foreign}, Ready, ""},
		{"a pod without a workload, such as a probe", nil, aNode("True"), []*corev1.Pod{bare}, Ready, ""},
		{"a pod that has ended", nil, aNode("True"), []*corev1.Pod{ended}, Ready, ""},
		{"a pod that is being replaced", nil, aNode("True"), []*corev1.Pod{deleted}, Ready, ""},
		{"pods cannot reach it", problems, aNode("True", cordoned), nil, Unreachable, "cannot be reached"},
		{"fights", func(c *Cluster) { problems(c); c.Unreachable = nil }, aNode("True", cordoned), nil, FightDetected, "flows; routes"},
		{"its host", func(c *Cluster) { problems(c); c.Unreachable, c.Fights = nil, nil }, aNode("True", cordoned), nil, HostNetworkFailed, "no eth1"},
		{"it is cordoned", nil, aNode("True", cordoned), nil, Cordoned, "it is cordoned"},
		{"a long text", func(c *Cluster) { c.Hosts = map[string]string{"a": strings.Repeat("é", 1000)} }, aNode("True"), nil, HostNetworkFailed, strings.Repeat("é", 500) + "..."},
	} {
		c := cluster()
		if row.change != nil {
			row.change(c)
		}
		got := of(c, row.node, row.pods...)
		if got.State != row.state || got.Why != row.message {
			t.Errorf("%s: %s, %q; want %s, %q", row.why, got.State, got.Why, row.state, row.message)
		}
	}
}

func TestOnlyNodesThatWorkAreReady(t *testing.T) {
	want := "not-ready NodeNotReady false, agent-not-ready AgentNotReady false, unreachable NodeUnreachable false, fight-detected FightDetected false, " +
		"host-network-failed HostNetworkFailed false, cordoned Cordoned true, ready AsExpected true"
	var got []string
	for _, s := range []State{NotReady, AgentNotReady, Unreachable, FightDetected, HostNetworkFailed, Cordoned, Ready} {
		works := "false"
		if s.Works() {
			works = "true"
		}
		got = append(got, strings.Join([]string{string(s), s.Reason(), works}, " "))
	}
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		t.Error(diff)
	}
	if len(reasons) != len(got) || Ready.Reason() != status.AsExpected {
		t.Errorf("%d states have reasons", len(reasons))
	}
}

func TestEveryReasonIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Objects of nodes")
	for s, reason := range reasons {
		row := "| False | `" + reason + "` |"
		if s.Works() {
			row = "| True | `" + reason + "` |"
		}
		if !strings.Contains(section, row) {
			t.Errorf("docs/status.md has no row %s", row)
		}
	}
}

func TestBlocksAreThoseOfTheNodeOrOfItsPods(t *testing.T) {
	pods := []*corev1.Pod{
		aPod("check", "p", "i", "True", with("10.7.7.5", "fd00:0:0:9::5")), aPod("check", "q", "i", "True", with("10.7.7.6")),
		aPod("check", "else", "i", "True", with("192.168.0.1", "172.16.0.1", "wrong")),
		aPod("agent", "host", "i", "True", with("10.8.8.8"), func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
	}
	for _, row := range []struct {
		why  string
		node *corev1.Node
		pods []*corev1.Pod
		want []string
	}{
		{"those of the node", aNode("True", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"fd00:0:0:7::/64", "10.9.9.0/24"} }), pods, []string{"10.9.9.0/24", "fd00:0:0:7::/64"}},
		{"the addresses of its pods in pools with blocks", aNode("True"), pods, []string{"10.7.7.0/24", "fd00:0:0:9::/64"}},
		{"unknown", aNode("True"), nil, nil},
	} {
		if diff := cmp.Diff(row.want, of(cluster(), row.node, row.pods...).Blocks); diff != "" {
			t.Errorf("%s: %s", row.why, diff)
		}
	}
}

func TestAgentsAndMTU(t *testing.T) {
	c := cluster()
	c.MTU = map[string]hostmtu.Node{"a": {MTU: 1500}, "b": {MTU: 9000}}
	got := of(c, aNode("True"),
		aPod("ovs", "o", "registry.example:5000/cno/ovs@sha256:0123456789abcdef", "True"), aPod("agent", "failed", "x/agent:v1", "False"), aPod("agent", "new", "x/agent:v2@sha256:01", "True"),
		aPod("check", "c", "check:v1", "True"), aPod("agent", "old", "x/agent:v1", "True", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }))
	if diff := cmp.Diff([]Agent{{"ns", "agent", "agent:v2", true}, {"ns", "ovs", "ovs@0123456789ab", true}}, got.Agents); diff != "" {
		t.Error(diff)
	}
	one, two := aPod("agent", "p", "agent:v1", "False"), aPod("agent", "q", "agent:v2", "False")
	if diff := cmp.Diff(of(c, aNode("True"), one, two).Agents, of(c, aNode("True"), two, one).Agents); diff != "" {
		t.Errorf("the order of the pods matters: %s", diff)
	}
	if got.MTU != 1500 {
		t.Errorf("the MTU is %d", got.MTU)
	}
	if empty := c.Of(aNode("True"), nil); len(empty.Agents) > 0 || empty.State != Ready {
		t.Errorf("a node without pods is %+v", empty)
	}
}

func TestHostsThatFailedHaveTheCause(t *testing.T) {
	config := networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	for name, result := range map[string]networkv1.Result{"a": networkv1.Failed, "b": networkv1.RolledBack, "c": networkv1.Applied, "d": networkv1.Pending, "e": networkv1.Applying} {
		config.Status.Hosts = append(config.Status.Hosts, networkv1.HostStatus{Name: name, Node: name, Result: result, Message: "m"})
	}
	config.Status.Hosts = append(config.Status.Hosts, networkv1.HostStatus{Name: "absent", Result: networkv1.Failed})
	want := map[string]string{"a": "HostNetworkConfig workers is not applied (Failed): m", "b": "HostNetworkConfig workers is not applied (RolledBack): m"}
	if diff := cmp.Diff(want, HostFailures([]networkv1.HostNetworkConfig{config})); diff != "" {
		t.Error(diff)
	}
	other := networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
	other.Status.Hosts = []networkv1.HostStatus{{Name: "a", Node: "a", Result: networkv1.Failed, Message: "m"}}
	want["a"] = "HostNetworkConfig all is not applied (Failed): m"
	for _, all := range [][]networkv1.HostNetworkConfig{{config, other}, {other, config}} {
		if diff := cmp.Diff(want, HostFailures(all)); diff != "" {
			t.Errorf("the order of the configurations matters: %s", diff)
		}
	}
}

func TestAHeartbeatIsNoChange(t *testing.T) {
	for _, row := range []struct {
		why           string
		before, after *corev1.Node
		want          bool
	}{
		{"only the time of the heartbeat", aNode("True"), aNode("True", func(n *corev1.Node) { n.Status.Conditions[1].LastHeartbeatTime = metav1.Now() }), false},
		{"another version", aNode("True"), aNode("True", func(n *corev1.Node) { n.ResourceVersion, n.Labels = "2", map[string]string{"a": "b"} }), false},
		{"it is not ready", aNode("True"), aNode("False"), true},
		{"for another reason", aNode("False"), aNode("False", func(n *corev1.Node) { n.Status.Conditions[1].Reason = "other" }), true},
		{"its first report", aNode(""), aNode("True"), true},
		{"cordoned", aNode("True"), aNode("True", cordoned), true},
		{"a block", aNode("True"), aNode("True", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.9.0/24"} }), true},
	} {
		if got := cluster().Changed(row.before, row.after); got != row.want {
			t.Errorf("%s: %t", row.why, got)
		}
	}
}
