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
		problem Problem
		detail  string
	}{
		{"a crash has its exit status", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 5,
			State: waiting("CrashLoopBackOff", "back-off 5m0s"), LastTerminationState: ended(1, "Error", "starting\nno default route\n")}}},
			CrashLoop, "container c ended with exit code 1: Error: no default route"},
		{"a panic has its message, not its stack", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 5,
			State: waiting("CrashLoopBackOff", "back-off 5m0s"), LastTerminationState: ended(2, "Error", "starting\npanic: nil map\n\ngoroutine 1 [running]:\nmain.go:3")}}},
			CrashLoop, "container c ended with exit code 2: Error: panic: nil map"},
		{"killed for its memory", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 5,
			State: waiting("CrashLoopBackOff", ""), LastTerminationState: ended(137, "OOMKilled", "")}}},
			CrashLoop, "container c ended with exit code 137: OOMKilled"},
		{"between two crashes the container runs", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 3,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(2, "Error", "")}}, Conditions: []corev1.PodCondition{notReady}},
			CrashLoop, "container c ended with exit code 2"},
		{"init containers come first", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", Image: "img", State: waiting("ErrImagePull", "not found")}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("PodInitializing", "")}}},
			ImagePull, "container i: image img: ErrImagePull: not found"},
		{"an init container's last line has the cause", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "check-kernel", RestartCount: 2,
			State: waiting("CrashLoopBackOff", "back-off 5m0s"), LastTerminationState: ended(1, "Error", "proxy-mode ipvs: kernel 6.1 lacks IPVS\n")}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("PodInitializing", "")}}},
			CrashLoop, "container check-kernel ended with exit code 1: Error: proxy-mode ipvs: kernel 6.1 lacks IPVS"},
		{"a missing Secret", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("CreateContainerConfigError", `secret "s" not found`)}}},
			CreateFailed, `container c: CreateContainerConfigError: secret "s" not found`},
		{"no node fits", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}},
			Unschedulable, "0/3 nodes are available"},
		{"evicted", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, Failed, "Evicted: low on memory"},
		{"killed for its memory once", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", RestartCount: 1,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, LastTerminationState: ended(137, "OOMKilled", "")}}, Conditions: []corev1.PodCondition{notReady}},
			NotReady, "container c ended with exit code 137: OOMKilled"},
		{"pulling and waiting to pull again are reported alike", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Image: "img",
			State: waiting("ImagePullBackOff", `Back-off pulling image "img": ErrImagePull: not found`)}}},
			ImagePull, "container c: image img: ErrImagePull: not found"},
		{"a container that is being made", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("ContainerCreating", "")}}, Conditions: []corev1.PodCondition{notReady}},
			Starting, "container c: ContainerCreating"},
		{"an init container that takes its time", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: waiting("PodInitializing", "")}}, Conditions: []corev1.PodCondition{notReady}},
			Starting, "init container i runs"},
		{"only not ready", corev1.PodStatus{Conditions: []corev1.PodCondition{notReady}}, NotReady, "containers with unready status: [c]"},
		{"nothing is known yet", corev1.PodStatus{}, Starting, ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			got := OfPod(&corev1.Pod{Status: row.status}, false)
			if got.Problem != row.problem || got.Detail != row.detail {
				t.Errorf("got %s %q, want %s %q", got.Problem, got.Detail, row.problem, row.detail)
			}
		})
	}
}

func TestReadyPodHasNoProblem(t *testing.T) {
	since := metav1.NewTime(now)
	got := OfPod(&corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}}}, false)
	if !got.Ready || got.Problem != "" || !got.Since.Equal(now) {
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

func TestProgressingDeploymentIsNotStalled(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(ago(time.Hour))}, Status: appsv1.DeploymentStatus{
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, LastUpdateTime: metav1.NewTime(now)}}}}
	if got := OfDeployment(d, nil); got.Desired != 1 || !got.Changed.Equal(now) {
		t.Errorf("got %+v", got)
	}
}

func TestPodThatCrashedRepeatedlyHasAProblemWhileItIsReady(t *testing.T) {
	ready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
	status := corev1.PodStatus{Conditions: ready, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", Ready: true, RestartCount: 3,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}}
	p := OfPod(&corev1.Pod{Status: status}, false)
	if got, again := withProblems([]Pod{p}, now.Add(healedAfter-time.Second)); len(got) != 1 || again != time.Second {
		t.Errorf("just before it has healed: %v, again after %v", got, again)
	}
	if got, _ := withProblems([]Pod{p}, now.Add(healedAfter)); len(got) != 0 {
		t.Errorf("after it has healed: %v", got)
	}
}

func TestRevisionDependsOnTheTemplateOnly(t *testing.T) {
	d := &appsv1.DaemonSet{}
	d.Spec.Template.Spec.PriorityClassName = "a"
	first := OfDaemonSet(d, nil).Revision
	d.Generation, d.UID, d.Spec.UpdateStrategy.Type = 7, "another", appsv1.OnDeleteDaemonSetStrategyType
	if got := OfDaemonSet(d, nil).Revision; got != first {
		t.Errorf("another strategy made revision %s of %s", got, first)
	}
	d.Spec.Template.Spec.PriorityClassName = "b"
	if got := OfDaemonSet(d, nil).Revision; got == first {
		t.Error("another template has the same revision")
	}
}

func TestStatusAnnotationsAreNoChangeOfAWorkload(t *testing.T) {
	apply, annotate := metav1.NewTime(ago(time.Hour)), metav1.NewTime(now)
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "cluster-network-operator/operconfig", Time: &apply}, {Manager: FieldManager, Time: &annotate}}}}
	if got := OfDaemonSet(d, nil).Changed; !got.Equal(apply.Time) {
		t.Errorf("changed at %v, want %v", got, apply)
	}
}

func TestDeploymentHasTheReasonWhyItsPodsAreRefused(t *testing.T) {
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}}}
	if got := OfDeployment(d, nil).Refused; got != "exceeded quota" {
		t.Errorf("refused: %q", got)
	}
}
