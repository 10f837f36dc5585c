package dashboards

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	// labelConsole is the label that the console selects; its value is "true".
	labelConsole = "console.openshift.io/dashboard"
	// component is the component of ConfigMaps and findings.
	component = "DashboardConfig"
	// prefix is the prefix of the ConfigMaps' names, as in OpenShift.
	prefix = "grafana-dashboard-"
)

// ownedLabels are the labels of the controller's ConfigMaps.
func ownedLabels() map[string]string {
	return map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component}
}

// desiredConfigMaps returns the ConfigMaps of dashboards, by name.
func desiredConfigMaps(dashboards map[string]string) map[string]*corev1.ConfigMap {
	all := map[string]*corev1.ConfigMap{}
	for name, content := range dashboards {
		cm := &corev1.ConfigMap{Data: map[string]string{name + ".json": content}}
		cm.Name, cm.Namespace, cm.Labels = prefix+name, Namespace, ownedLabels()
		cm.Labels[labelConsole] = "true"
		all[cm.Name] = cm
	}
	return all
}

// changes are the changes in the order of names.
type changes struct {
	Apply  []*corev1ac.ConfigMapApplyConfiguration
	Delete []corev1.ConfigMap
}

// compare returns the changes from existing to desired ConfigMaps. Additional labels, annotations and keys are not changed.
func compare(existing []corev1.ConfigMap, desired map[string]*corev1.ConfigMap) changes {
	var c changes
	same := map[string]bool{}
	for _, live := range existing {
		if w := desired[live.Name]; w == nil {
			c.Delete = append(c.Delete, live)
		} else {
			same[live.Name] = manifest.HasAll(live.Labels, w.Labels) && manifest.HasAll(live.Data, w.Data)
		}
	}
	slices.SortFunc(c.Delete, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(desired)) {
		if w := desired[name]; !same[name] {
			c.Apply = append(c.Apply, corev1ac.ConfigMap(w.Name, w.Namespace).WithLabels(w.Labels).WithData(w.Data))
		}
	}
	return c
}
