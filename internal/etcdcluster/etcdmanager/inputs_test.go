package etcdmanager

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestKubeletHeartbeatsTriggerNoReconcile(t *testing.T) {
	before := &corev1.Node{}
	before.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	after := before.DeepCopy()
	after.Status.Conditions[0].LastHeartbeatTime.Time = time.Now()
	after.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}}
	if NodeChanged(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a heartbeat starts a reconcile")
	}
	after.Status.Conditions[0].Status = corev1.ConditionUnknown
	if !NodeChanged(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a node that became NotReady starts none")
	}
}
