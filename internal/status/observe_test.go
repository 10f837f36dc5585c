package status

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodIsDiagnosed(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	notReady := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [c]"}
	for _, row := range []struct {
		why     string
		status  corev1.PodStatus
		trouble Trouble
		detail  string
	}{
		{"a crash says how it ended", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 5,
			State: waiting("CrashLoopBackOff", "back-off 5m0s"), LastTerminationState: ended(1, "Error", "no default route\nmore")}}},
			CrashLoop, "container c ended with exit code 1: Error: no default route, 5 restarts"},
		{"killed for its memory", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 5,
			State: waiting("CrashLoopBackOff", ""), LastTerminationState: ended(137, "OOMKilled", "")}}},
			CrashLoop, "container c ended with exit code 137: OOMKilled, 5 restarts"},
		{"between two crashes the container runs", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 3,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(2, "Error", "")}}, Conditions: []corev1.PodCondition{notReady}},
			CrashLoop, "container c ended with exit code 2, 3 restarts"},
		{"init containers come first", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", Image: "img", State: waiting("ErrImagePull", "not found")}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("PodInitializing", "")}}},
			ImagePull, "container i: image img: ErrImagePull: not found"},
		{"a missing Secret", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("CreateContainerConfigError", `secret "s" not found`)}}},
			CreateFailed, `container c: CreateContainerConfigError: secret "s" not found`},
		{"no node fits", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}},
			Unschedulable, "0/3 nodes are available"},
		{"evicted", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, Failed, "Evicted: low on memory"},
		{"only not ready", corev1.PodStatus{Conditions: []corev1.PodCondition{notReady}}, NotReady, "containers with unready status: [c]"},
		{"nothing is known yet", corev1.PodStatus{}, NotReady, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			got := OfPod(&corev1.Pod{Status: row.status}, false)
			if got.Trouble != row.trouble || got.Detail != row.detail {
				t.Errorf("got %s %q, want %s %q", got.Trouble, got.Detail, row.trouble, row.detail)
			}
		})
	}
}

func TestReadyPodHasNoTrouble(t *testing.T) {
	since := metav1.NewTime(now)
	got := OfPod(&corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}}}, false)
	if !got.Ready || got.Trouble != "" || !got.Since.Equal(now) {
		t.Errorf("got %+v", got)
	}
}

func TestLastWriteOfTheSpecificationCountsAsChange(t *testing.T) {
	apply, report := metav1.NewTime(ago(time.Minute)), metav1.NewTime(now)
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(ago(time.Hour)), ManagedFields: []metav1.ManagedFieldsEntry{
		{Time: &apply}, {Time: &report, Subresource: "status"}}}}
	if got := OfDaemonSet(d, nil).Changed; !got.Equal(apply.Time) {
		t.Errorf("changed at %v, want %v", got, apply)
	}
}

func TestDeploymentThatMovesOnIsNotHung(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(ago(time.Hour))}, Status: appsv1.DeploymentStatus{
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(now)}}}}
	if got := OfDeployment(d, nil); got.Desired != 1 || !got.Changed.Equal(now) {
		t.Errorf("got %+v", got)
	}
}
