package networknode

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/nodestate"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// world is a cluster with the controller, whose reconciles the test starts.
type world struct {
	*apitest.Server
	t     *testing.T
	c     *Controller
	nodes []*corev1.Node
	pods  []*corev1.Pod
	now   time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := apitest.Shared(t)
	w := &world{Server: server, t: t, now: time.Unix(1_700_000_000, 0)}
	w.c = &Controller{
		Client: server.Client, Namespace: server.Namespace(t), Namespaces: []string{"ns"}, Now: func() time.Time { return w.now },
		Cluster: nodestate.Cluster{Agents: map[types.NamespacedName]bool{{Namespace: "ns", Name: "agent"}: true}, Blocks: networks.Blocks},
		Nodes:   func(context.Context) ([]*corev1.Node, error) { return w.nodes, nil },
		Pods: func(_ context.Context, namespace string, _ labels.Selector, look func(*corev1.Pod)) error {
			for _, p := range w.pods {
				if p.Namespace == namespace {
					look(p)
				}
			}
			return nil
		},
	}
	return w
}

// join adds a node with a block and an agent.
func (w *world) join(name, block string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{block}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent-" + name, Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}}}
	p.Spec.NodeName, p.Spec.HostNetwork, p.Spec.Containers = name, true, []corev1.Container{{Image: "registry.example/agent:v1"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.nodes, w.pods = append(w.nodes, n), append(w.pods, p)
}

// reconcile reconciles an hour later, and returns the objects.
func (w *world) reconcile() []networkoperatorv1.NetworkNode {
	w.t.Helper()
	w.now = w.now.Add(time.Hour)
	if _, err := w.c.Reconcile(w.t.Context(), reconcile.Request{}); err != nil {
		w.t.Fatal(err)
	}
	var list networkoperatorv1.NetworkNodeList
	if err := w.Client.List(w.t.Context(), &list); err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// summary has a line for each object.
func summary(all []networkoperatorv1.NetworkNode) string {
	var out strings.Builder
	for _, n := range all {
		s := n.Status
		fmt.Fprintf(&out, "%s: %s %v %d", n.Name, s.Type, s.Blocks, s.MTU)
		for _, a := range s.Agents {
			fmt.Fprintf(&out, " %s/%s=%s/%t", a.Namespace, a.Name, a.Image, a.Ready)
		}
		for _, c := range s.Conditions {
			fmt.Fprintf(&out, " %s=%s %s %s: %s", c.Type, c.Status, c.LastTransitionTime.UTC().Format("15:04"), c.Reason, c.Message)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// want compares the objects after a reconcile, and then that another reconcile writes nothing.
func (w *world) want(what, want string) []networkoperatorv1.NetworkNode {
	w.t.Helper()
	got := w.reconcile()
	if diff := cmp.Diff(want, summary(got)); diff != "" {
		w.t.Errorf("%s: %s", what, diff)
	}
	for i, again := range w.reconcile() {
		if again.ResourceVersion != got[i].ResourceVersion {
			w.t.Errorf("%s: %s is written without a change", what, again.Name)
		}
	}
	return got
}

func TestNodesHaveObjectsThatFollowThem(t *testing.T) {
	w := newWorld(t)
	w.join("a", "10.1.0.0/24")
	w.want("without a Network", "")
	network := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.1.0.0/16", HostPrefix: 24}}, ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}}
	w.Create(t, network)
	record, err := hostmtu.Record{Nodes: map[string]hostmtu.Node{"a": {Mark: "m", MTU: 1500}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.c.Namespace, Name: hostmtu.ConfigMap}, Data: record})
	const works = " AsExpected: The network works on the node\n"
	w.want("with a Network", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/true Ready=True 01:13"+works)

	w.join("b", "10.1.1.0/24")
	first := w.want("a node joins", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/true Ready=True 01:13"+works+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=True 03:13"+works)

	w.pods[0].Status.Conditions[0].Status = corev1.ConditionFalse
	second := w.want("an agent fails", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/false Ready=False 05:13 AgentNotReady: pod ns/agent-a is not ready\n"+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=True 03:13"+works)
	if second[1].ResourceVersion != first[1].ResourceVersion {
		t.Error("the object of another node is written")
	}
	w.c.SetFights(map[string][]string{"b": {"routes"}})
	w.c.SetUnreachable(map[string]string{"a": "it cannot be reached"})
	w.want("other controllers report problems", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/false Ready=False 05:13 AgentNotReady: pod ns/agent-a is not ready\n"+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=False 07:13 FightDetected: routes\n")
	w.pods[0].Status.Conditions[0].Status = corev1.ConditionTrue
	w.want("another cause keeps the time of the transition", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/true Ready=False 05:13 NodeUnreachable: it cannot be reached\n"+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=False 07:13 FightDetected: routes\n")
	w.c.SetFights(nil)
	w.c.SetUnreachable(nil)
	healed := w.want("the problems are solved", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/true Ready=True 11:13"+works+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=True 11:13"+works)

	if err := w.Client.Delete(t.Context(), &healed[0]); err != nil {
		t.Fatal(err)
	}
	apitest.ChangeStatus(t, w.Client, &healed[1], func() {
		healed[1].Status.Blocks, healed[1].Status.Conditions[0].Reason = []string{"192.0.2.0/24"}, "Edited"
	})
	w.want("another client has deleted one and modified the other", "a: Flannel [10.1.0.0/24] 1500 ns/agent=agent:v1/true Ready=True 13:13"+works+
		"b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=True 11:13"+works)

	w.nodes = w.nodes[1:]
	w.want("a node leaves", "b: Flannel [10.1.1.0/24] 0 ns/agent=agent:v1/true Ready=True 11:13"+works)
	if err := w.Client.Delete(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	w.want("the Network is deleted", "")
}

func TestAReconcileWritesALimitedNumberOfObjects(t *testing.T) {
	w := newWorld(t)
	w.Create(t, &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}, Spec: operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.0.0.0/8", HostPrefix: 24}}, ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel}}})
	for i := range batch + 1 {
		w.join(fmt.Sprintf("n-%03d", i), fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
	}
	result, err := w.c.Reconcile(t.Context(), reconcile.Request{})
	if err != nil || result.RequeueAfter != collectDelay {
		t.Errorf("the rest follows after %s, %v", result.RequeueAfter, err)
	}
	var list networkoperatorv1.NetworkNodeList
	if err := w.Client.List(t.Context(), &list); err != nil || len(list.Items) != batch {
		t.Errorf("%d objects are written, %v", len(list.Items), err)
	}
	if got := w.reconcile(); len(got) != batch+1 {
		t.Errorf("then there are %d", len(got))
	}
	w.nodes = nil
	if got := w.reconcile(); len(got) != 1 {
		t.Errorf("after the first deletions there are %d", len(got))
	}
	if got := w.reconcile(); len(got) != 0 {
		t.Errorf("after the second there are %d", len(got))
	}
}

func TestTheCacheKeepsTheStatusAndSharesItsStrings(t *testing.T) {
	object := func(name string) *networkoperatorv1.NetworkNode {
		return &networkoperatorv1.NetworkNode{
			ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7", UID: "u", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
			Status: networkoperatorv1.NetworkNodeStatus{Type: "T", Blocks: []string{"10.0.0.0/24"}, MTU: 1500,
				Agents:     []networkoperatorv1.NetworkNodeAgent{{Namespace: "ns", Name: "agent", Image: strings.Repeat("image", 2), Ready: true}},
				Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "R", Message: "m", LastTransitionTime: metav1.NewTime(time.Unix(1, 0))}}},
		}
	}
	got, err := trim(object("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := &networkoperatorv1.NetworkNode{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "7"}, Status: object("a").Status}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
