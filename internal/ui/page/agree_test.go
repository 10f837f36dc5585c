package page

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/controller/networknode"
	"github.com/cluster-network-operator/cno/internal/controller/nodefight"
	"github.com/cluster-network-operator/cno/internal/hostmtu"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/nodestate"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/ui/objects"
)

// answer is what both the page and the object have of a node.
type answer struct {
	Name, Reason, Why string
	Blocks, Images    []string
	MTU               int
}

// kept are the answers of the objects that the operator keeps in a cluster with the same objects as the page.
func kept(t *testing.T, s Source, all []client.Object) (answers []answer) {
	t.Helper()
	scheme, err := objects.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	network := &operatorv1.Network{}
	if err := s.Objects.Get(t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, network); err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(all, network)...).WithStatusSubresource(&networkoperatorv1.NetworkNode{}).Build()
	nodes := func(ctx context.Context) (found []*corev1.Node, err error) {
		var list corev1.NodeList
		err = api.List(ctx, &list)
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
		return found, err
	}
	c := &networknode.Controller{
		Client: api, Nodes: nodes, Namespace: s.Namespace, Namespaces: []string{"ns"}, Now: s.Now, Cluster: nodestate.Cluster{Agents: nodestate.AgentsOf(s.Agents), Blocks: networks.Blocks},
		Pods: func(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod)) error {
			var list corev1.PodList
			err := api.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
			for i := range list.Items {
				look(&list.Items[i])
			}
			return err
		},
	}
	fights := &nodefight.Controller{Client: api, Live: api, Nodes: nodes, Board: &report.Board{}, OnFights: c.SetFights, Now: s.Now}
	for _, r := range []func(context.Context, reconcile.Request) (reconcile.Result, error){fights.Reconcile, c.Reconcile} {
		if _, err := r(t.Context(), reconcile.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	var list networkoperatorv1.NetworkNodeList
	if err := api.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	for _, n := range list.Items {
		a := answer{Name: n.Name, Reason: n.Status.Conditions[0].Reason, Why: n.Status.Conditions[0].Message, Blocks: n.Status.Blocks, MTU: int(n.Status.MTU)}
		for _, agent := range n.Status.Agents {
			a.Images = append(a.Images, agent.Image)
		}
		answers = append(answers, a)
	}
	return answers
}

func TestThePageAndTheObjectsOfNodesAgree(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	record, err := hostmtu.Record{Nodes: map[string]hostmtu.Node{"works": {Mark: "m", MTU: 1500}, "cordoned": {Mark: "m", MTU: 9000}}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	host := &networkv1.HostNetworkConfig{ObjectMeta: metav1.ObjectMeta{Name: "workers"}}
	host.Status.Hosts = []networkv1.HostStatus{{Name: "host", Node: "host", Result: networkv1.RolledBack, Message: "no eth1"}}
	all := []client.Object{
		node("works", "True"), node("down", "Unknown"), node("agent", "True"), node("fight", "True"), node("host", "True"),
		node("cordoned", "True", func(n *corev1.Node) { n.Spec.Unschedulable, n.Spec.PodCIDRs = true, []string{"10.9.9.0/24"} }),
		pod("ns", "agent-works", "works", "True"), pod("ns", "check-works", "works", "True", "10.7.7.5", "fd00:0:0:9::5"), pod("ns", "agent-agent", "agent", "False"),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ons", Name: hostmtu.ConfigMap}, Data: record}, host,
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, Reason: "FightDetected", Message: "routes", EventTime: metav1.NewMicroTime(now),
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "fight"}},
	}
	for _, o := range all {
		if p, ok := o.(*corev1.Pod); ok {
			p.Spec.Containers = []corev1.Container{{Image: "registry.example/agent:v1"}}
		}
	}
	s := source(t, all...)
	s.Now, s.Agents = func() time.Time { return now }, []provider.Agent{{Namespace: "ns", Name: "agent"}}
	page, err := s.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var shown []answer
	reasons := map[string]bool{}
	for _, n := range page.Nodes {
		shown = append(shown, answer{n.Name, n.State.Reason(), cmp.Or(n.Why, "The network works on the node"), n.Blocks, n.Agents, n.MTU})
		reasons[n.State.Reason()] = true
	}
	if diff := gocmp.Diff(shown, kept(t, s, all)); diff != "" {
		t.Error(diff)
	}
	if len(reasons) != len(all[:6]) || !slices.ContainsFunc(shown, func(a answer) bool { return len(a.Images) > 0 && len(a.Blocks) > 1 && a.MTU > 0 }) {
		t.Errorf("the test compares only %+v", shown)
	}
}
