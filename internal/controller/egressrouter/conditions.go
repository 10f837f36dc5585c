package egressrouter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/status"
)

const (
	// reasonAddressInUse is the reason if another machine has the router's address.
	reasonAddressInUse = "AddressInUse"
	// asExpected is the reason of a condition in its normal state.
	asExpected = "AsExpected"
	// unavailableFor is the time without an available pod after which a router is Degraded: longer than a pod takes to move to another node
	// that is ready.
	unavailableFor = 2 * time.Minute
	// rejectedRetry is the retry interval after a rejection, whose cause is not watched.
	rejectedRetry = 30 * time.Second
	// waitingRetry is the retry interval while something short is awaited.
	waitingRetry = 2 * time.Second
)

// cause is the reason and message of a condition.
type cause struct{ Reason, Message string }

// Causes for missing prerequisites.
var (
	noImage = &cause{"NoImage", "the operator has no image for routers; set EGRESS_ROUTER_CNI_IMAGE for it"}

	waitForMultus = &cause{"WaitingForMultus", "NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1), which give pods further interfaces, are not available in this cluster; " +
		"the router is created as soon as they are: set spec.disableMultiNetwork to false, or install Multus"}
)

// state is the state of a router from which its conditions are computed.
type state struct {
	// Invalid are the errors of the specification.
	Invalid field.ErrorList
	// Problem needs user action; nil if there is none.
	Problem *cause
	// Waiting resolves automatically; nil if nothing is awaited.
	Waiting *cause
	// Deployment is nil if there is none.
	Deployment *appsv1.Deployment
	Pods       []corev1.Pod
	// Wanted are the attachments that the pod must have. It is empty if the specification has errors.
	Wanted []attachment
	// AttachFailure is the reason why a node could not attach the pod; nil if none is known.
	AttachFailure *cause
}

// condition is a condition without type and time.
type condition struct {
	Status networkv1.ConditionStatus
	cause
}

func conditionTrue(why cause) condition  { return condition{networkv1.ConditionTrue, why} }
func conditionFalse(why cause) condition { return condition{networkv1.ConditionFalse, why} }

// conditions computes the three conditions of a router. requeueAfter is the time after which they may change without an event; 0 is never.
func (s state) conditions(now time.Time) (available, progressing, degraded condition, requeueAfter time.Duration) {
	available, progressing = s.available(), s.progressing()
	degraded, requeueAfter = s.degraded(available.Status == networkv1.ConditionTrue, now)
	switch {
	case s.Problem != nil && (s.Problem.Reason == "ApplyFailed" || s.Problem.Reason == reasonAddressInUse):
		requeueAfter = rejectedRetry
	case s.Waiting != nil && s.Waiting != waitForMultus:
		requeueAfter = waitingRetry
	}
	if slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return isStarting(&p) }) && (requeueAfter == 0 || requeueAfter > eventsRetry) {
		requeueAfter = eventsRetry
	}
	return available, progressing, degraded, requeueAfter
}

// blocker returns the cause that prevents the router from being applied; nil if there is none.
func (s state) blocker() *cause {
	switch {
	case len(s.Invalid) > 0:
		sentences := make([]string, 0, len(s.Invalid))
		for _, e := range s.Invalid {
			sentences = append(sentences, e.Error())
		}
		return &cause{"InvalidSpec", strings.Join(sentences, "\n")}
	case s.Problem != nil:
		return s.Problem
	}
	return s.Waiting
}

// available computes the condition Available: the pod runs and has its addresses, even while the specification cannot be applied.
func (s state) available() condition {
	switch {
	case s.Deployment == nil && s.blocker() != nil:
		return conditionFalse(*s.blocker())
	case s.Deployment == nil:
		return conditionFalse(cause{"Deploying", "the pod does not exist yet"})
	case s.Deployment.Status.AvailableReplicas == 0:
		return conditionFalse(cause{"PodNotAvailable", s.podProblem()})
	case len(s.Wanted) > 0 && s.missingAddress() != nil:
		return conditionFalse(*s.missingAddress())
	default:
		return conditionTrue(cause{asExpected, "the router's pod is running and has its addresses"})
	}
}

// progressing computes the condition Progressing: a change is under way that needs no user action.
func (s state) progressing() condition {
	d := s.Deployment
	switch {
	case s.Waiting != nil:
		return conditionTrue(*s.Waiting)
	case d == nil && s.blocker() != nil:
		return conditionFalse(cause{s.blocker().Reason, "waiting for user action; see Degraded"})
	case d == nil:
		return conditionTrue(cause{"Deploying", "the Deployment is being created"})
	case d.Status.ObservedGeneration < d.Generation:
		return conditionTrue(cause{"Deploying", fmt.Sprintf("Deployment %s has changed, and its controller has not observed the change yet", d.Name)})
	case stalled(d) != nil:
		return conditionFalse(cause{"RolloutHung", "the rollout has stopped, see Degraded"})
	case d.Status.UpdatedReplicas < 1 || d.Status.Replicas > d.Status.UpdatedReplicas || !rolledOut(d):
		return conditionTrue(cause{"Deploying", fmt.Sprintf("Deployment %s is rolling out its pod", d.Name)})
	}
	return conditionFalse(cause{asExpected, ""})
}

// degraded computes the condition Degraded: user action is needed. requeueAfter is the time after which that may change.
func (s state) degraded(available bool, now time.Time) (v condition, requeueAfter time.Duration) {
	if why := s.blocker(); why != nil && why != s.Waiting {
		return conditionTrue(*why), 0
	}
	d := s.Deployment
	if d == nil {
		return conditionFalse(cause{asExpected, ""}), 0
	}
	if c := deploymentCondition(d, appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		return conditionTrue(cause{"PodRefused", fmt.Sprintf("the pod cannot be created: %s", c.Message)}), 0
	}
	if c := stalled(d); c != nil && s.AttachFailure == nil {
		return conditionTrue(cause{"RolloutHung", fmt.Sprintf("%s %s", c.Message, s.podProblem())}), 0
	}
	if available {
		return conditionFalse(cause{asExpected, ""}), 0
	}
	if s.AttachFailure != nil {
		return conditionTrue(*s.AttachFailure), 0
	}
	if d.Status.AvailableReplicas > 0 {
		// During a rollout the old pod need not have the new addresses.
		if s.progressing().Status == networkv1.ConditionTrue {
			return conditionFalse(cause{asExpected, ""}), 0
		}
		return conditionTrue(*s.missingAddress()), 0
	}
	if left := unavailableFor - now.Sub(unavailableSince(d)); left > 0 {
		return conditionFalse(cause{asExpected, ""}), left
	}
	return conditionTrue(cause{"PodNotAvailable", s.podProblem()}), 0
}

// unavailableSince returns the time when a Deployment lost its pod or was created.
func unavailableSince(d *appsv1.Deployment) time.Time {
	if c := deploymentCondition(d, appsv1.DeploymentAvailable); c != nil && c.Status != corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return d.CreationTimestamp.Time
}

// stalled returns the condition of a stalled rollout; nil if it is not stalled.
func stalled(d *appsv1.Deployment) *appsv1.DeploymentCondition {
	if c := deploymentCondition(d, appsv1.DeploymentProgressing); c != nil && c.Status == corev1.ConditionFalse {
		return c
	}
	return nil
}

// rolledOut reports whether a pod of the present template has been available.
func rolledOut(d *appsv1.Deployment) bool {
	c := deploymentCondition(d, appsv1.DeploymentProgressing)
	return c == nil && d.Status.AvailableReplicas > 0 || c != nil && c.Reason == "NewReplicaSetAvailable"
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// podProblem describes why the pod does not run.
func (s state) podProblem() string {
	if s.AttachFailure != nil {
		return s.AttachFailure.Message
	}
	for i := range s.Pods {
		pod := status.OfPod(&s.Pods[i], false)
		switch {
		case pod.Problem == "":
		case pod.Detail == "":
			return fmt.Sprintf("pod %s: %s", pod.Name, pod.Problem)
		default:
			return fmt.Sprintf("pod %s: %s (%s)", pod.Name, pod.Problem, pod.Detail)
		}
	}
	if len(s.Pods) == 0 {
		return "there is no pod"
	}
	return "the pod is not ready yet"
}

// conditionsOf returns the conditions for the status of a router. A condition whose status stays keeps its transition time.
func conditionsOf(available, progressing, degraded condition, before []networkv1.EgressRouterStatusCondition, now time.Time) []networkv1.EgressRouterStatusCondition {
	// kubectl get shows the first.
	all := []networkv1.EgressRouterStatusCondition{
		{Type: networkv1.EgressRouterAvailable, Status: available.Status, Reason: available.Reason, Message: available.Message},
		{Type: networkv1.EgressRouterProgressing, Status: progressing.Status, Reason: progressing.Reason, Message: progressing.Message},
		{Type: networkv1.EgressRouterDegraded, Status: degraded.Status, Reason: degraded.Reason, Message: degraded.Message},
	}
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		if old := find(before, all[i].Type); old != nil && old.Status == all[i].Status {
			all[i].LastTransitionTime = old.LastTransitionTime
		}
	}
	return all
}

func find(all []networkv1.EgressRouterStatusCondition, kind networkv1.EgressRouterStatusConditionType) *networkv1.EgressRouterStatusCondition {
	for i := range all {
		if all[i].Type == kind {
			return &all[i]
		}
	}
	return nil
}
