package mtumigration

import (
	"testing"

	osv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestReportsAreThoseOfReadyPods(t *testing.T) {
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	}
	pod := func(on, text string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p-" + on, Annotations: map[string]string{Annotation: text}}, Spec: corev1.PodSpec{NodeName: on},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	published := State{MTU: 1450, Step: 1, RoutableMTU: 1400}
	text, err := published.Encode()
	if err != nil {
		t.Fatal(err)
	}
	ended := pod("a", text, corev1.ConditionTrue)
	ended.DeletionTimestamp = &metav1.Time{}
	for _, tc := range []struct {
		why  string
		pods []corev1.Pod
		done bool
	}{
		{"it is done", []corev1.Pod{pod("a", text, corev1.ConditionTrue)}, true},
		{"the pod of a deleted node changes nothing", []corev1.Pod{pod("a", text, corev1.ConditionTrue), pod("gone", "{}", corev1.ConditionTrue)}, true},
		{"the pod is not Ready", []corev1.Pod{pod("a", text, corev1.ConditionFalse)}, false},
		{"the pod is of the step before", []corev1.Pod{pod("a", `{"mtu":1450}`, corev1.ConditionTrue)}, false},
		{"the pod is being deleted", []corev1.Pod{ended}, false},
		{"the node writes something else", []corev1.Pod{pod("a", `[`, corev1.ConditionTrue)}, false},
		{"there is no pod", nil, false},
	} {
		progress, waiting := Progress(published, Reports([]*corev1.Node{node("a")}, tc.pods))
		if progress.Done != tc.done || tc.done != (len(waiting) == 0) {
			t.Errorf("%s: %+v, %v", tc.why, progress, waiting)
		}
	}
}

func TestRenderingKeepsTheRecordDuringAMigration(t *testing.T) {
	spec := &operatorv1.NetworkSpec{}
	data := map[string]string{}
	if next, err := Render(&State{MTU: 1450}, 1450, spec, facts.MTUMigration{}, data); err != nil || next != (State{MTU: 1450}) || len(data) != 0 {
		t.Errorf("without a change: %+v, %v, %v", next, data, err)
	}
	spec.Migration = &osv1.NetworkMigration{MTU: &osv1.MTUMigration{Network: &osv1.MTUMigrationValues{From: new(uint32(1450)), To: new(uint32(1400))}}}
	next, err := Render(&State{MTU: 1450}, 1450, spec, facts.MTUMigration{Active: true, MTU: 1450, Done: true}, data)
	if err != nil {
		t.Fatal(err)
	}
	record, err := DecodeRecord(data)
	if err != nil || record == nil || record.State != next || record.Change != (Change{From: 1450, To: 1400, Announced: true}) {
		t.Errorf("%+v is recorded as %+v, %v", next, record, err)
	}
	if again := StateOf(next.MTU, next.Migration("")); again != next || next.Step != 1 {
		t.Errorf("agents are to have %+v for %+v", again, next)
	}
	if _, err := DecodeRecord(map[string]string{RecordKey: "{"}); err == nil {
		t.Error("a damaged record is read")
	}
}
