package podaddress

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

func TestOnePodOfAWorkloadIsReplacedAtATime(t *testing.T) {
	now := time.Unix(10_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	old := func(name string, ready bool) pod {
		return pod{name: name, uid: types.UID(name), ready: ready, outdated: "192.0.2.1"}
	}
	current := func(name string, ready bool) pod { return pod{name: name, uid: types.UID(name), ready: ready} }
	for _, row := range []struct {
		why   string
		pods  []pod
		since map[types.UID]time.Time
		want  string
	}{
		{"none has an old address", []pod{current("a", true)}, nil, ""},
		{"the node may get its address back", []pod{old("a", true)}, map[types.UID]time.Time{"a": ago(grace - time.Second)}, ""},
		{"the grace period has passed", []pod{old("a", true), current("b", true)}, map[types.UID]time.Time{"a": ago(grace)}, "a"},
		{"another pod is not ready", []pod{old("a", true), current("b", false)}, map[types.UID]time.Time{"a": ago(grace)}, ""},
		{"the pod itself is not ready", []pod{old("a", false), current("b", true)}, map[types.UID]time.Time{"a": ago(grace)}, "a"},
		{"the one that is not ready comes first", []pod{old("a", true), old("b", false)}, map[types.UID]time.Time{"a": ago(time.Hour), "b": ago(grace)}, "b"},
		{"two are not ready: something else is wrong", []pod{old("a", false), old("b", false)}, map[types.UID]time.Time{"a": ago(time.Hour), "b": ago(time.Hour)}, ""},
		{"the one that was seen first", []pod{old("a", true), old("b", true)}, map[types.UID]time.Time{"a": ago(grace), "b": ago(time.Hour)}, "b"},
		{"one that was seen and has a current address again", []pod{current("a", true)}, map[types.UID]time.Time{"a": ago(time.Hour)}, ""},
	} {
		got := ""
		if p := choose(row.pods, row.since, now); p != nil {
			got = p.name
		}
		if got != row.want {
			t.Errorf("%s: it replaces %q, want %q", row.why, got, row.want)
		}
	}
}

// recorded are the messages of events.
type recorded []string

func (r *recorded) Normal(_ *operatorv1.Network, reason, message string) {
	*r = append(*r, reason+": "+message)
}

func TestThePodOfANodeWithANewAddressIsReplaced(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := operatorv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	network := &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName, Annotations: map[string]string{pipeline.PausedAnnotation: "true"}}}
	selected := map[string]string{"app": "agent"}
	agents := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "operands", Name: "agent"}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: selected}}}
	on := func(node, address string, l map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "operands", Name: l["app"] + "-" + node, UID: types.UID(l["app"] + node), Labels: l}, Spec: corev1.PodSpec{NodeName: node, HostNetwork: true},
			Status: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: address}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	}
	moved, stays, other := on("moved", "192.0.2.1", selected), on("stays", "192.0.2.2", selected), on("moved", "192.0.2.1", map[string]string{"app": "other"})
	nodes := []*corev1.Node{}
	for name, address := range map[string]string{"moved": "192.0.2.9", "stays": "192.0.2.2"} {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}})
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(network, agents, moved, stays, other).Build()
	recorder, board, now := &recorded{}, &report.Board{}, time.Unix(10_000, 0)
	c := &Controller{
		Client: api, Operands: api, Board: board, Events: recorder, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Nodes: func(context.Context) ([]*corev1.Node, error) { return nodes, nil },
		Pods: func(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod)) error {
			pods := &corev1.PodList{}
			err := api.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
			for i := range pods.Items {
				look(&pods.Items[i])
			}
			return err
		},
	}
	left := func() (names []string) {
		t.Helper()
		pods := &corev1.PodList{}
		if err := api.List(t.Context(), pods); err != nil {
			t.Fatal(err)
		}
		for _, p := range pods.Items {
			names = append(names, p.Name)
		}
		return names
	}
	everything := []string{"agent-moved", "agent-stays", "other-moved"}
	step := func(why string, after time.Duration, again bool, want []string) {
		t.Helper()
		now = now.Add(after)
		result, err := c.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if got := left(); !slices.Equal(got, want) || (result.RequeueAfter > 0) != again {
			t.Errorf("%s: there are %v, want %v; the next look is after %s", why, got, want, result.RequeueAfter)
		}
	}
	step("what there should be is not known yet", 0, true, everything)
	board.SetRollout(report.Rollout{Wanted: []status.Workload{{Kind: "DaemonSet", Namespace: "operands", Name: "agent"}, {Kind: "DaemonSet", Namespace: "operands", Name: "missing"}}})
	step("the address may be restored", time.Hour, true, everything)
	step("the network is paused", grace, true, everything)
	network.Annotations = nil
	if err := api.Update(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	step("the pod of the operand alone is replaced", 0, true, []string{"agent-stays", "other-moved"})
	step("nothing is left to do", interval, false, []string{"agent-stays", "other-moved"})
	if want := []string{"PodReplaced: replaced pod agent-moved of DaemonSet \"operands/agent\": node moved no longer has its address 192.0.2.1"}; !slices.Equal(*recorder, want) {
		t.Errorf("it reports %q", *recorder)
	}
}
