package nodefight

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/fight"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/report"
)

// event is one of an agent on a node, renewed some time ago.
func event(name, node, note string, number int32, renewed time.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: fightevents.Namespace, Name: name}, Reason: fight.Reason, Message: note, InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node},
		Series: &corev1.EventSeries{Count: number, LastObservedTime: metav1.NewMicroTime(renewed)},
	}
}

func TestFightsOnNodesAreFindings(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	other := event("other", "a", "x", 5, now)
	other.InvolvedObject.Kind = "Network"
	var many []client.Object
	for i := range 7 {
		many = append(many, event(fmt.Sprint(i), fmt.Sprintf("n%d", i), "routes", int32(5<<i), now))
	}
	for _, tt := range []struct {
		why    string
		events []client.Object
		want   string
		next   time.Duration
	}{
		{"none", nil, "", 0},
		{"one that lasts", []client.Object{event("e", "a", "routes", 20, ago(time.Minute))}, "node a: routes (restored 20 times or more)", 2 * time.Minute},
		{"one that was not renewed", []client.Object{event("e", "a", "routes", 20, ago(3*time.Minute))}, "", 0},
		{"one of a time to come", []client.Object{event("e", "a", "routes", 20, now.Add(time.Hour))}, "", 0},
		{"two things", []client.Object{event("e", "a", "routes", 20, now), event("f", "b", "flows", 5, ago(2*time.Minute))}, "node a: routes (restored 20 times or more); node b: flows (restored 5 times or more)", time.Minute},
		{"one thing on all nodes", many, "nodes n0, n1, n2, n3, n4 and 2 more: routes (restored 320 times or more)", 3 * time.Minute},
		{"a node that was deleted", []client.Object{event("e", "deleted", "routes", 20, now)}, "", 3 * time.Minute},
		{"the operator's own fights", []client.Object{other}, "", 0},
		{"a long text", []client.Object{event("e", "a", strings.Repeat("é", 1000), 5, now)}, "node a: " + strings.Repeat("é", 150) + "... (restored 5 times or more)", 3 * time.Minute},
	} {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, networkoperatorv1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		board := &report.Board{}
		known := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tt.events...).Build()
		c := &Controller{
			Client: known, Live: known, Board: board, Now: func() time.Time { return now },
			Nodes: func(context.Context) (nodes []*corev1.Node, err error) {
				for _, name := range []string{"a", "b", "n0", "n1", "n2", "n3", "n4", "n5", "n6"} {
					nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
				}
				return nodes, nil
			},
		}
		result, err := c.Reconcile(t.Context(), reconcile.Request{})
		if err != nil {
			t.Fatal(err)
		}
		found, _, _ := board.Snapshot()
		got := ""
		for _, f := range found {
			got += f.Message
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || result.RequeueAfter != tt.next {
			t.Errorf("%s: the next reconcile is in %s (-want +got):\n%s", tt.why, result.RequeueAfter, diff)
		}
	}
}
