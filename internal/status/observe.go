package status

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// FieldManager is who writes statuses, and the annotation of rollouts that hang. It is the one that OpenShift's operator
// uses. What it writes does not count as a change of a workload.
const FieldManager = "cluster-network-operator/status-manager"

// AnnotationHung is on a workload, with an empty value, as long as its rollout hangs.
const AnnotationHung = "networkoperator.openshift.io/rollout-hung"

// OfDaemonSet reads the state of a DaemonSet. Component, NonCritical and Refused are left for the caller.
func OfDaemonSet(d *appsv1.DaemonSet, pods []Pod) Live {
	return Live{
		Workload:   Workload{Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name},
		Version:    d.Annotations[manifest.AnnotationVersion],
		Revision:   revision(&d.Spec.Template),
		Desired:    d.Status.DesiredNumberScheduled,
		Current:    d.Status.CurrentNumberScheduled,
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
	last, refused := changed(&d.ObjectMeta), ""
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason != "ProgressDeadlineExceeded" && c.LastUpdateTime.After(last) {
			last = c.LastUpdateTime.Time
		}
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			refused = firstLine(c.Message)
		}
	}
	return Live{
		Workload:   Workload{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name},
		Version:    d.Annotations[manifest.AnnotationVersion],
		Revision:   revision(&d.Spec.Template),
		Desired:    desired,
		Current:    d.Status.Replicas,
		Updated:    d.Status.UpdatedReplicas,
		Available:  d.Status.AvailableReplicas,
		Generation: d.Generation,
		Observed:   d.Status.ObservedGeneration,
		Changed:    last,
		Refused:    refused,
		Pods:       pods,
	}
}

// revision stands for a template: the same for the same one, also of another object of the same name.
func revision(template *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil { // there is nothing in it that cannot be written
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// changed is when an object was made or last written by someone other than the controller that keeps its
// status, and the status loop.
func changed(o *metav1.ObjectMeta) time.Time {
	last := o.CreationTimestamp.Time
	for _, m := range o.ManagedFields {
		if m.Subresource == "" && m.Manager != FieldManager && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}
