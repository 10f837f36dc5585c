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
	// labelConsole is the label by which the console of OpenShift finds dashboards; its value is "true".
	labelConsole = "console.openshift.io/dashboard"
	// component is the part of the network that ConfigMaps and findings belong to.
	component = "DashboardConfig"
	// prefix begins the names of the ConfigMaps, as in all of OpenShift.
	prefix = "grafana-dashboard-"
)

// own are the labels by which the loop knows its ConfigMaps.
func own() map[string]string {
	return map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, manifest.LabelComponent: component}
}

// wanted returns the ConfigMaps of dashboards, by name.
func wanted(dashboards map[string]string) map[string]*corev1.ConfigMap {
	all := map[string]*corev1.ConfigMap{}
	for name, content := range dashboards {
		cm := &corev1.ConfigMap{Data: map[string]string{name + ".json": content}}
		cm.Name, cm.Namespace, cm.Labels = prefix+name, Namespace, own()
		cm.Labels[labelConsole] = "true"
		all[cm.Name] = cm
	}
	return all
}

// changes are what is to be done, in the order of names.
type changes struct {
	Apply  []*corev1ac.ConfigMapApplyConfiguration
	Delete []corev1.ConfigMap
}

// compare returns what makes ConfigMaps of the loop those that are wanted. Labels, annotations and keys that someone has
// added are not changed: the console shows what it knows.
func compare(there []corev1.ConfigMap, want map[string]*corev1.ConfigMap) changes {
	var c changes
	same := map[string]bool{}
	for _, have := range there {
		if w := want[have.Name]; w == nil {
			c.Delete = append(c.Delete, have)
		} else {
			same[have.Name] = manifest.HasAll(have.Labels, w.Labels) && manifest.HasAll(have.Data, w.Data)
		}
	}
	slices.SortFunc(c.Delete, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if w := want[name]; !same[name] {
			c.Apply = append(c.Apply, corev1ac.ConfigMap(w.Name, w.Namespace).WithLabels(w.Labels).WithData(w.Data))
		}
	}
	return c
}
