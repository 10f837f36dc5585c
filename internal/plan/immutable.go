package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// fixedFields returns the immutable fields of a kind that the operator renders. They are compared as a whole.
func fixedFields(key manifest.Key) [][]string {
	switch key.GroupKind().String() {
	case "DaemonSet.apps", "Deployment.apps":
		return [][]string{{"spec", "selector"}}
	case "StatefulSet.apps":
		return [][]string{{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}, {"spec", "volumeClaimTemplates"}}
	case "Job.batch":
		return [][]string{{"spec", "template"}, {"spec", "selector"}, {"spec", "completionMode"}, {"spec", "completions"}}
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return [][]string{{"roleRef"}}
	case "PriorityClass.scheduling.k8s.io":
		return [][]string{{"value"}, {"preemptionPolicy"}}
	case "Service":
		return [][]string{{"spec", "clusterIP"}}
	case "Secret":
		return [][]string{{"type"}}
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return [][]string{{"spec", "scope"}, {"spec", "group"}, {"spec", "names", "kind"}, {"spec", "names", "plural"}}
	}
	return nil
}

// immutable returns the differences in immutable fields.
func immutable(want, live *unstructured.Unstructured) []string {
	key := manifest.KeyOf(want)
	d := newDiffer(want)
	for _, path := range fixedFields(key) {
		wanted, ok, _ := unstructured.NestedFieldNoCopy(want.Object, path...)
		if !ok {
			continue
		}
		existing, _, _ := unstructured.NestedFieldNoCopy(live.Object, path...)
		d.at(path...)
		d.compare(wanted, existing, path[len(path)-1], false)
	}
	switch {
	case key.Group == "" && key.Kind == "Service":
		compareService(d, want, live)
	case key.Group == "" && (key.Kind == "ConfigMap" || key.Kind == "Secret") && live.Object["immutable"] == true:
		for _, field := range []string{"data", "binaryData", "immutable"} {
			if wanted, existing := want.Object[field], live.Object[field]; wanted != nil || existing != nil {
				d.at(field)
				d.compare(wanted, existing, field, true)
			}
		}
	}
	return d.reasons()
}

// compareService finds immutable differences of a Service: it stays headless, and its first IP family stays.
func compareService(d *differ, want, live *unstructured.Unstructured) {
	wanted, _, _ := unstructured.NestedString(want.Object, "spec", "clusterIP")
	existing, _, _ := unstructured.NestedString(live.Object, "spec", "clusterIP")
	kind, _, _ := unstructured.NestedString(want.Object, "spec", "type")
	if wanted == "" && existing == "None" && kind != "ExternalName" {
		d.at("spec", "clusterIP")
		d.differ(nil, existing)
	}
	families, _, _ := unstructured.NestedStringSlice(want.Object, "spec", "ipFamilies")
	present, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "ipFamilies")
	if len(families) > 0 && len(present) > 0 && families[0] != present[0] {
		d.at("spec", "ipFamilies")
		d.differ(families[0], present[0])
	}
}

// adopts reports whether the selector of the new workload matches the pods of the old one, so that it replaces them one by
// one. Otherwise they are deleted with the old workload: as orphans, they would keep ports and mounts that the new ones
// need.
func adopts(want, live *unstructured.Unstructured) bool {
	if !manifest.IsWorkload(manifest.KeyOf(want).GroupKind()) {
		return false
	}
	tree, _, _ := unstructured.NestedMap(want.Object, "spec", "selector")
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &selector); err != nil {
		return false
	}
	matches, err := metav1.LabelSelectorAsSelector(&selector)
	pods, _, _ := unstructured.NestedStringMap(live.Object, "spec", "template", "metadata", "labels")
	return err == nil && len(pods) > 0 && matches.Matches(labels.Set(pods))
}
