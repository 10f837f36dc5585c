package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// OfDaemonSet reads the state of a DaemonSet. Component and NonCritical are left for the caller.
func OfDaemonSet(d *appsv1.DaemonSet, pods []Pod) Live {
	return Live{
		Workload:   Workload{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name},
		Version:    d.Annotations[manifest.AnnotationVersion],
		Desired:    d.Status.DesiredNumberScheduled,
		Updated:    d.Status.UpdatedNumberScheduled,
		Available:  d.Status.NumberAvailable,
		Generation: d.Generation,
		Observed:   d.Status.ObservedGeneration,
		Changed:    changed(&d.ObjectMeta),
		Pods:       pods,
	}
}

// OfDeployment reads the state of a Deployment. Component and NonCritical are left for the caller.
func OfDeployment(d *appsv1.Deployment, pods []Pod) Live {
	desired := int32(1)
	if d.Spec.Replicas != nil {
		desired = *d.Spec.Replicas
	}
	last := changed(&d.ObjectMeta)
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason != "ProgressDeadlineExceeded" && c.LastUpdateTime.After(last) {
			last = c.LastUpdateTime.Time
		}
	}
	return Live{
		Workload:   Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name},
		Version:    d.Annotations[manifest.AnnotationVersion],
		Desired:    desired,
		Updated:    d.Status.UpdatedReplicas,
		Available:  d.Status.AvailableReplicas,
		Generation: d.Generation,
		Observed:   d.Status.ObservedGeneration,
		Changed:    last,
		Pods:       pods,
	}
}

// changed is when an object was made or last written by somebody other than the controller that keeps its
// status.
func changed(o *metav1.ObjectMeta) time.Time {
	last := o.CreationTimestamp.Time
	for _, m := range o.ManagedFields {
		if m.Subresource == "" && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}
