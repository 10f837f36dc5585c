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
	// reasonAddressInUse is the reason of a router whose address another machine has.
	reasonAddressInUse = "AddressInUse"
	// asExpected is the reason of a condition that is as it should be.
	asExpected = "AsExpected"
	// unavailableFor is how long a router may have no pod that runs before a person is asked to look: longer than a pod takes to move to
	// another node that is ready.
	unavailableFor = 2 * time.Minute
	// refusedAgain is how long the loop waits after a refusal, whose cause it does not watch.
	refusedAgain = 30 * time.Second
	// waitingAgain is the same for what will be over soon.
	waitingAgain = 2 * time.Second
)

// trouble is what keeps a router from being made: a reason and a sentence.
type trouble struct{ Reason, Message string }

// Sentences for what is not there.
var (
	noImage = &trouble{"NoImage", "the operator has no image for routers; set EGRESS_ROUTER_CNI_IMAGE for it"}

	waitForMultus = &trouble{"WaitingForMultus", "NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1), which give pods further interfaces, are not available in this cluster; " +
		"the router is created as soon as they are: set spec.disableMultiNetwork to false, or install Multus"}
)

// state is what is known of a router, of which its conditions are made.
type state struct {
	// Invalid is what is wrong with the specification.
	Invalid field.ErrorList
	// Trouble needs a person; nil if there is none.
	Trouble *trouble
	// Waiting is over by itself; nil if nothing is awaited.
	Waiting *trouble
	// Deployment is nil if there is none.
	Deployment *appsv1.Deployment
	Pods       []corev1.Pod
	// Wanted are the attachments that the pod must have. It is empty if the specification has errors.
	Wanted []attachment
	// Refused is why a node could not attach the pod; nil if that is not known.
	Refused *trouble
}

// verdict is one condition without its time.
type verdict struct {
	Status networkv1.ConditionStatus
	trouble
}

func yes(why trouble) verdict { return verdict{networkv1.ConditionTrue, why} }
func no(why trouble) verdict  { return verdict{networkv1.ConditionFalse, why} }

// conditions decides the three conditions of a router. again is when they must be decided again although nothing changes; 0 is never.
func (s state) conditions(now time.Time) (available, progressing, degraded verdict, again time.Duration) {
	available, progressing = s.available(), s.progressing()
	degraded, again = s.degraded(available.Status == networkv1.ConditionTrue, now)
	switch {
	case s.Trouble != nil && (s.Trouble.Reason == "ApplyFailed" || s.Trouble.Reason == reasonAddressInUse):
		again = refusedAgain
	case s.Waiting != nil && s.Waiting != waitForMultus:
		again = waitingAgain
	}
	if slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return waits(&p) }) && (again == 0 || again > eventsAgain) {
		again = eventsAgain
	}
	return available, progressing, degraded, again
}

// obstacle is what keeps the router from being what it should be, nil if nothing does.
func (s state) obstacle() *trouble {
	switch {
	case len(s.Invalid) > 0:
		sentences := make([]string, 0, len(s.Invalid))
		for _, e := range s.Invalid {
			sentences = append(sentences, e.Error())
		}
		return &trouble{"InvalidSpec", strings.Join(sentences, "\n")}
	case s.Trouble != nil:
		return s.Trouble
	}
	return s.Waiting
}

// available says whether the pod runs and has its addresses, also while the specification cannot be applied.
func (s state) available() verdict {
	switch {
	case s.Deployment == nil && s.obstacle() != nil:
		return no(*s.obstacle())
	case s.Deployment == nil:
		return no(trouble{"Deploying", "the pod does not exist yet"})
	case s.Deployment.Status.AvailableReplicas == 0:
		return no(trouble{"PodNotAvailable", s.podTrouble()})
	case len(s.Wanted) > 0 && s.unattached() != nil:
		return no(*s.unattached())
	default:
		return yes(trouble{asExpected, "the router's pod runs, and has its addresses"})
	}
}

// progressing says whether something changes without anybody doing anything.
func (s state) progressing() verdict {
	d := s.Deployment
	switch {
	case s.Waiting != nil:
		return yes(*s.Waiting)
	case d == nil && s.obstacle() != nil:
		return no(trouble{s.obstacle().Reason, "waiting for user action; see Degraded"})
	case d == nil:
		return yes(trouble{"Deploying", "the Deployment is being created"})
	case d.Status.ObservedGeneration < d.Generation:
		return yes(trouble{"Deploying", fmt.Sprintf("Deployment %s has changed, and its controller has not observed the change yet", d.Name)})
	case hung(d) != nil:
		return no(trouble{"RolloutHung", "the rollout has stopped, see Degraded"})
	case d.Status.UpdatedReplicas < 1 || d.Status.Replicas > d.Status.UpdatedReplicas || !rolledOut(d):
		return yes(trouble{"Deploying", fmt.Sprintf("Deployment %s is rolling out its pod", d.Name)})
	}
	return no(trouble{asExpected, ""})
}

// degraded says whether a person must look. again is when that may change.
func (s state) degraded(available bool, now time.Time) (v verdict, again time.Duration) {
	if why := s.obstacle(); why != nil && why != s.Waiting {
		return yes(*why), 0
	}
	d := s.Deployment
	if d == nil {
		return no(trouble{asExpected, ""}), 0
	}
	if c := condition(d, appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		return yes(trouble{"PodRefused", fmt.Sprintf("the pod cannot be created: %s", c.Message)}), 0
	}
	if c := hung(d); c != nil && s.Refused == nil {
		return yes(trouble{"RolloutHung", fmt.Sprintf("%s %s", c.Message, s.podTrouble())}), 0
	}
	if available {
		return no(trouble{asExpected, ""}), 0
	}
	if s.Refused != nil {
		return yes(*s.Refused), 0
	}
	if d.Status.AvailableReplicas > 0 {
		// The pod before a change need not have the addresses of the next one.
		if s.progressing().Status == networkv1.ConditionTrue {
			return no(trouble{asExpected, ""}), 0
		}
		return yes(*s.unattached()), 0
	}
	if left := unavailableFor - now.Sub(unavailableSince(d)); left > 0 {
		return no(trouble{asExpected, ""}), left
	}
	return yes(trouble{"PodNotAvailable", s.podTrouble()}), 0
}

// unavailableSince is when a Deployment lost its pod, or was made.
func unavailableSince(d *appsv1.Deployment) time.Time {
	if c := condition(d, appsv1.DeploymentAvailable); c != nil && c.Status != corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return d.CreationTimestamp.Time
}

// hung returns the condition of a rollout that does not get further, nil if it does.
func hung(d *appsv1.Deployment) *appsv1.DeploymentCondition {
	if c := condition(d, appsv1.DeploymentProgressing); c != nil && c.Status == corev1.ConditionFalse {
		return c
	}
	return nil
}

// rolledOut reports whether the present pod, or the one before it that was the same, was available once.
func rolledOut(d *appsv1.Deployment) bool {
	c := condition(d, appsv1.DeploymentProgressing)
	return c == nil && d.Status.AvailableReplicas > 0 || c != nil && c.Reason == "NewReplicaSetAvailable"
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// podTrouble says what keeps the pod from running.
func (s state) podTrouble() string {
	if s.Refused != nil {
		return s.Refused.Message
	}
	for i := range s.Pods {
		pod := status.OfPod(&s.Pods[i], false)
		switch {
		case pod.Trouble == "":
		case pod.Detail == "":
			return fmt.Sprintf("pod %s: %s", pod.Name, pod.Trouble)
		default:
			return fmt.Sprintf("pod %s: %s (%s)", pod.Name, pod.Trouble, pod.Detail)
		}
	}
	if len(s.Pods) == 0 {
		return "there is no pod"
	}
	return "the pod is not ready yet"
}

// conditionsOf returns the conditions for the status of a router, with the times of those that stay what they are.
func conditionsOf(available, progressing, degraded verdict, before []networkv1.EgressRouterStatusCondition, now time.Time) []networkv1.EgressRouterStatusCondition {
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
