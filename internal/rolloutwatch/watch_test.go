package rolloutwatch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
)

// world is a cluster in memory with one DaemonSet.
type world struct {
	conditions []osv1.OperatorCondition
	record     map[string]string
	set        appsv1.DaemonSet
	pods       []corev1.Pod
}

func (w *world) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *operatorv1.Network:
		o.Status.ObservedGeneration, o.Status.Conditions = 2, w.conditions
	case *corev1.ConfigMap:
		o.Data = w.record
	}
	return nil
}

func (w *world) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *appsv1.DaemonSetList:
		list.Items = []appsv1.DaemonSet{w.set}
	case *corev1.PodList:
		list.Items = w.pods
	}
	return nil
}

// pod is one of the DaemonSet on a node.
func pod(node, generation string, ready corev1.ConditionStatus) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{templateGeneration: generation}}, Spec: corev1.PodSpec{NodeName: node}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

// hashed is a pod of a revision with the given hash.
func hashed(p corev1.Pod, hash string) corev1.Pod {
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = hash
	return p
}

// done is a world in which revision 2 is applied and runs on two nodes. The DaemonSet has a higher generation than its
// template, since its pacing has changed.
func done(t *testing.T) *world {
	t.Helper()
	snapshot, err := applied.NewSnapshot(&operatorv1.NetworkSpec{})
	if err != nil {
		t.Fatal(err)
	}
	record, err := applied.Record{}.Begin(applied.Start{Intent: snapshot, Number: 2, OperatorVersion: "v1"}).MarkApplying()
	if err != nil {
		t.Fatal(err)
	}
	if record, _, err = record.MarkApplied(time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	if record, _, err = record.MarkHealthy(time.Unix(1001, 0)); err != nil {
		t.Fatal(err)
	}
	w := &world{record: record.Encode(), conditions: []osv1.OperatorCondition{{Type: "Available", Status: osv1.ConditionTrue}, {Type: "Progressing", Status: osv1.ConditionFalse}, {Type: "Degraded", Status: osv1.ConditionFalse}}}
	w.set = appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", Generation: 9, Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "3"}}, Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{}}}
	w.set.Status = appsv1.DaemonSetStatus{ObservedGeneration: 9, DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2}
	w.pods = []corev1.Pod{pod("cp-0", "3", "True"), pod("worker-0", "3", "True")}
	return w
}

func TestARolloutIsDoneWhenItsPodsAreReady(t *testing.T) {
	for _, row := range []struct {
		why    string
		change func(*world)
		line   string
		done   bool
	}{
		{"all pods are ready", func(*world) {}, "applied and healthy: revision 2", true},
		{"a pod is not ready, and the counts are of a moment ago", func(w *world) { w.pods[0] = pod("cp-0", "3", "False") }, "kube-proxy: 1 of 2 nodes, waiting for cp-0\n", false},
		{"a pod is of the revision before", func(w *world) { w.pods[1] = pod("worker-0", "2", "True"); w.set.Status.UpdatedNumberScheduled = 1 }, "kube-proxy: 1 of 2 nodes, waiting for worker-0\n", false},
		{"the template has returned to an earlier form, whose pods stay", func(w *world) { w.pods[1] = pod("worker-0", "1", "True") }, "applied and healthy: revision 2", true},
		{"the same, while another pod is still replaced", func(w *world) {
			w.set.Status.DesiredNumberScheduled, w.set.Status.UpdatedNumberScheduled, w.set.Status.NumberAvailable = 3, 2, 3
			w.pods = []corev1.Pod{hashed(pod("cp-0", "3", "True"), "a"), hashed(pod("worker-0", "1", "True"), "a"), hashed(pod("worker-1", "2", "True"), "b")}
		}, "kube-proxy: 2 of 3 nodes, waiting for worker-1\n", false},
		{"the operator has not confirmed it", func(w *world) { w.record["settling"] = "true" }, "waiting for the operator to confirm", false},
		{"it is degraded for another reason", func(w *world) {
			w.record["settling"] = "true"
			w.conditions[2] = osv1.OperatorCondition{Type: "Degraded", Status: osv1.ConditionTrue, Reason: "FightDetected", Message: "m"}
		}, "applied; degraded: m", true},
	} {
		w := done(t)
		row.change(w)
		var out bytes.Buffer
		f := Watcher{Client: w, Namespace: "ns", Out: &out, Now: time.Now}
		if got, err := f.poll(t.Context(), 2); got != row.done || err != nil || !strings.Contains(out.String(), row.line) {
			t.Errorf("%s: done %v, %v:\n%s", row.why, got, err, &out)
		}
	}
}

func TestTimeoutNamesTheCauseAndTheWayBack(t *testing.T) {
	w := done(t)
	w.pods[0] = pod("cp-0", "3", "False")
	w.conditions[1] = osv1.OperatorCondition{Type: "Progressing", Status: osv1.ConditionTrue, Message: "container init ended with exit code 1"}
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	f := Watcher{Client: w, Namespace: "ns", Out: &bytes.Buffer{}, Now: time.Now}
	err := f.Rollout(ctx, 2)
	if !errors.Is(err, ErrTimeout) || strings.Contains(err.Error(), "context deadline") {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"waiting for cp-0", "container init ended with exit code 1", "cno rollback"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
