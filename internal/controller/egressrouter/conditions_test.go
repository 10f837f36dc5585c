package egressrouter

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// running returns a Deployment whose pod runs.
func running(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 2, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
	}}
	for _, f := range change {
		f(d)
	}
	return d
}

// without removes the pod, some time before noon.
func without(ago time.Duration) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.AvailableReplicas, d.Status.ReadyReplicas = 0, 0
		d.Status.Conditions[0].Status, d.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(noon.Add(-ago))
	}
}

// rolling makes it a rollout that is under way.
func rolling(d *appsv1.Deployment) {
	d.Status.Conditions[1].Reason = "ReplicaSetUpdated"
}

func TestConditionsDescribeTheState(t *testing.T) {
	invalid := field.ErrorList{field.Required(field.NewPath("spec", "a"), "write it"), field.Invalid(field.NewPath("spec", "b"), 1, "write 2")}
	pulling := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "c", Image: "i:v1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}}}}
	refused := &cause{"ApplyFailed", "exceeded quota"}
	wanted := []attachment{{"shop/egress-router-r-ipv4", netip.MustParseAddr("192.168.12.99")}, {"shop/egress-router-r-ipv6", netip.MustParseAddr("fd12::99")}}
	reporting := func(attachments ...attachment) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{wire.AnnotationStatus: report(attachments...)}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	}
	leaving := reporting(wanted...)
	leaving.DeletionTimestamp = &metav1.Time{Time: noon}
	starting := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	taken := &cause{"AddressInUse", "pod p on node n: address is taken"}
	for _, row := range []struct {
		why                              string
		state                            state
		available, progressing, degraded string // status and reason
		conditionsText                   string // in the message of Degraded, or of Available if that is False
		requeueAfter                     time.Duration
	}{
		{"all is well", state{Deployment: running()}, "True AsExpected", "False AsExpected", "False AsExpected", "", 0},
		{"no object exists yet", state{}, "False Deploying", "True Deploying", "False AsExpected", "does not exist yet", 0},
		{"a mistake before anything was made", state{Invalid: invalid}, "False InvalidSpec", "False InvalidSpec", "True InvalidSpec", "spec.a: Required value: write it\nspec.b: Invalid value: 1: write 2", 0},
		{"a mistake in an edit leaves the pod", state{Invalid: invalid, Deployment: running()}, "True AsExpected", "False AsExpected", "True InvalidSpec", "spec.a", 0},
		{"no image", state{Problem: noImage}, "False NoImage", "False NoImage", "True NoImage", "EGRESS_ROUTER_CNI_IMAGE", 0},
		{"no image any more", state{Problem: noImage, Deployment: running()}, "True AsExpected", "False AsExpected", "True NoImage", "EGRESS_ROUTER_CNI_IMAGE", 0},
		{"no Multus is no one's mistake", state{Waiting: waitForMultus}, "False WaitingForMultus", "True WaitingForMultus", "False AsExpected", "install Multus", 0},
		{"Multus is removed", state{Waiting: waitForMultus, Deployment: running()}, "True AsExpected", "True WaitingForMultus", "False AsExpected", "", 0},
		{"a quota is not watched", state{Problem: refused}, "False ApplyFailed", "False ApplyFailed", "True ApplyFailed", "exceeded quota", rejectedRetry},
		{"an earlier router is being deleted", state{Waiting: &cause{"Replacing", "it goes"}}, "False Replacing", "True Replacing", "False AsExpected", "it goes", waitingRetry},
		{"the Deployment has just been made", state{Deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1, CreationTimestamp: metav1.NewTime(noon)}}},
			"False PodNotAvailable", "True Deploying", "False AsExpected", "there is no pod", unavailableFor},
		{"a change has not been looked at", state{Deployment: running(func(d *appsv1.Deployment) { d.Generation = 3 })}, "True AsExpected", "True Deploying", "False AsExpected", "", 0},
		{"a rollout deletes the pod first", state{Deployment: running(without(time.Second), rolling)}, "False PodNotAvailable", "True Deploying", "False AsExpected", "there is no pod", unavailableFor - time.Second},
		{"the old pod is still there", state{Deployment: running(rolling, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 })}, "True AsExpected", "True Deploying", "False AsExpected", "", 0},
		{"a node that fails is no rollout", state{Deployment: running(without(time.Minute))}, "False PodNotAvailable", "False AsExpected", "False AsExpected", "there is no pod", time.Minute},
		{"a pod that does not come", state{Deployment: running(without(unavailableFor)), Pods: []corev1.Pod{pulling}}, "False PodNotAvailable", "False AsExpected", "True PodNotAvailable", "image i:v1", 0},
		{"a rollout that is over its time", state{Deployment: running(without(time.Hour), func(d *appsv1.Deployment) {
			d.Status.Conditions[1] = appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out."}
		}), Pods: []corev1.Pod{pulling}}, "False PodNotAvailable", "False RolloutHung", "True RolloutHung", "timed out. pod p: ImagePullBackOff", 0},
		{"pods that are not admitted", state{Deployment: running(without(0), func(d *appsv1.Deployment) {
			d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "violates PodSecurity"})
		})}, "False PodNotAvailable", "False AsExpected", "True PodRefused", "violates PodSecurity", 0},
		{"both addresses", state{Deployment: running(), Pods: []corev1.Pod{reporting(wanted...)}, Wanted: wanted}, "True AsExpected", "False AsExpected", "False AsExpected", "", 0},
		{"one address of two", state{Deployment: running(), Pods: []corev1.Pod{reporting(wanted[0])}, Wanted: wanted}, "False AddressMissing", "False AsExpected", "True AddressMissing", "fd12::99", 0},
		{"the address of another network does not count", state{Deployment: running(), Pods: []corev1.Pod{reporting(attachment{"shop/other", wanted[0].address})}, Wanted: wanted[:1]},
			"False AddressMissing", "False AsExpected", "True AddressMissing", "shop/egress-router-r-ipv4", 0},
		{"a pod that is being deleted does not count", state{Deployment: running(), Pods: []corev1.Pod{leaving}, Wanted: wanted}, "False AddressMissing", "False AsExpected", "True AddressMissing", "no pod has the address", 0},
		{"a report that cannot be read", state{Deployment: running(), Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wire.AnnotationStatus: "["}}}}, Wanted: wanted},
			"False AddressMissing", "False AsExpected", "True AddressMissing", "192.168.12.99", 0},
		{"the pod before a change of the address", state{Deployment: running(rolling, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), Pods: []corev1.Pod{reporting()}, Wanted: wanted},
			"False AddressMissing", "True Deploying", "False AsExpected", "192.168.12.99", 0},
		{"a node that refuses", state{Deployment: running(without(time.Second), rolling), Pods: []corev1.Pod{starting}, Wanted: wanted, AttachFailure: taken},
			"False PodNotAvailable", "True Deploying", "True AddressInUse", "pod p on node n: address is taken", eventsRetry},
		{"a pod whose events may come yet", state{Deployment: running(without(time.Second), rolling), Pods: []corev1.Pod{starting}, Wanted: wanted},
			"False PodNotAvailable", "True Deploying", "False AsExpected", "pod p: Starting", eventsRetry},
		{"a clock that went back", state{Deployment: running(without(-time.Hour))}, "False PodNotAvailable", "False AsExpected", "False AsExpected", "there is no pod", unavailableFor + time.Hour},
	} {
		t.Run(row.why, func(t *testing.T) {
			available, progressing, degraded, requeueAfter := row.state.conditions(noon)
			got := []string{word(available), word(progressing), word(degraded)}
			if diff := cmp.Diff([]string{row.available, row.progressing, row.degraded}, got); diff != "" {
				t.Error(diff)
			}
			message := degraded.Message
			if degraded.Status != networkv1.ConditionTrue && available.Status == networkv1.ConditionFalse {
				message = available.Message
			}
			if !strings.Contains(message, row.conditionsText) {
				t.Errorf("%q does not contain %q", message, row.conditionsText)
			}
			if requeueAfter != row.requeueAfter {
				t.Errorf("looks again after %v, want %v", requeueAfter, row.requeueAfter)
			}
		})
	}
}

func word(v condition) string { return string(v.Status) + " " + v.Reason }

func TestTransitionTimesChangeWithTheStatusOnly(t *testing.T) {
	good, bad := conditionFalse(cause{asExpected, ""}), conditionTrue(cause{"X", "x"})
	first := conditionsOf(good, good, good, nil, noon)
	second := conditionsOf(good, bad, conditionFalse(cause{asExpected, "another sentence"}), first, noon.Add(time.Minute))
	for i, want := range []time.Time{noon, noon.Add(time.Minute), noon} {
		if got := second[i].LastTransitionTime.Time; !got.Equal(want) {
			t.Errorf("%s: %v, want %v", second[i].Type, got, want)
		}
	}
}
