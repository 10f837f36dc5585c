package manifest

import "k8s.io/apimachinery/pkg/runtime/schema"

// The labels and annotations of the operator's objects.
const (
	// LabelManagedBy marks the operator's objects; its value is ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "cluster-network-operator"
	// LabelComponent is the component of an object, for example "Flannel".
	LabelComponent = "networkoperator.openshift.io/component"
	// AnnotationVersion is the version of the operator that rendered a workload.
	AnnotationVersion = "release.openshift.io/version"
	// AnnotationCleanup is set on DaemonSets that change nodes: the command, as a JSON list, that cleans a node. It runs
	// instead of that of the first container after the DaemonSet's own pods have ended.
	AnnotationCleanup = "networkoperator.openshift.io/cleanup"
	// AnnotationHash is the Hash of the rendered object that was applied last.
	AnnotationHash = "networkoperator.openshift.io/desired-hash"
)

// Stamp adds the labels of the operator and the component to an object in place, and the annotation with the version of
// the operator to workloads.
func Stamp(o Object, component, version string) {
	labels := o.Object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelManagedBy] = ManagedBy
	if component != "" {
		labels[LabelComponent] = component
	}
	o.Object.SetLabels(labels)
	if version == "" || !IsWorkload(o.Key().GroupKind()) {
		return
	}
	annotations := o.Object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationVersion] = version
	o.Object.SetAnnotations(annotations)
}

// IsWorkload reports whether a kind is a workload with rollouts.
func IsWorkload(gk schema.GroupKind) bool {
	return gk.Group == "apps" && (gk.Kind == "DaemonSet" || gk.Kind == "Deployment" || gk.Kind == "StatefulSet")
}
