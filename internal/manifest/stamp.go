package manifest

import "k8s.io/apimachinery/pkg/runtime/schema"

// What every object of the operator carries.
const (
	// LabelManagedBy marks the operator's objects; its value is ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "cluster-network-operator"
	// LabelComponent names the part of the network that an object belongs to, for example "Flannel".
	LabelComponent = "networkoperator.openshift.io/component"
	// AnnotationVersion is the version of the operator that rendered a workload.
	AnnotationVersion = "release.openshift.io/version"
	// AnnotationCleanup is on DaemonSets that leave something on nodes: the command, as a JSON list, that takes it away
	// when it runs in the place of the first container's, once none of the DaemonSet's own pods run any more.
	AnnotationCleanup = "networkoperator.openshift.io/cleanup"
	// AnnotationHash is the Hash of the object as it was wanted when it was applied last.
	AnnotationHash = "networkoperator.openshift.io/desired-hash"
)

// Stamp labels an object as the operator's and as part of a component, and annotates workloads with the version
// of the operator. It changes the object in place.
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

// IsWorkload reports whether a kind is one that keeps pods running and rolls them out.
func IsWorkload(gk schema.GroupKind) bool {
	return gk.Group == "apps" && (gk.Kind == "DaemonSet" || gk.Kind == "Deployment" || gk.Kind == "StatefulSet")
}
