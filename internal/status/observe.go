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

// FieldManager is the field manager of statuses and of the annotation of stalled rollouts. It is the one that OpenShift's
// operator uses. Its writes do not count as changes of a workload.
const FieldManager = "cluster-network-operator/status-manager"

// AnnotationHung is set on a workload, with an empty value, while its rollout is stalled.
const AnnotationHung = "networkoperator.openshift.io/rollout-hung"

// OfDaemonSet returns the state of a DaemonSet. The caller sets Component, NonCritical and Refused.
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

// OfDeployment returns the state of a Deployment. The caller sets Component and NonCritical.
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

// revision returns a hash of a template.
func revision(template *corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil { // a template can always be encoded
		return "unknown"
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// changed returns the time at which an object was created or last written, except by the controller of its status and by
// FieldManager.
func changed(o *metav1.ObjectMeta) time.Time {
	last := o.CreationTimestamp.Time
	for _, m := range o.ManagedFields {
		if m.Subresource == "" && m.Manager != FieldManager && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}
