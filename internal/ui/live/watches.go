package live

import (
	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/fightevents"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// watch is one kind that is watched.
type watch struct {
	object client.Object
	// namespaces are its namespaces; empty means all.
	namespaces []string
	labels     labels.Selector
	fields     fields.Selector
	// required is true for a kind that all pages need.
	required bool
}

// watches returns the watches of all kinds that pages use.
func watches(namespace string, operands provider.Operands) []watch {
	own := []string{namespace}
	return []watch{
		{object: &operatorv1.Network{}, required: true},
		{object: &networkoperatorv1.NetworkConfig{}},
		{object: &networkv1.HostNetworkConfig{}},
		{object: &configv1.ClusterOperator{}},
		{object: &corev1.Node{}},
		{object: &appsv1.DaemonSet{}, labels: labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy})},
		{object: &appsv1.Deployment{}, namespaces: own},
		{object: &corev1.ConfigMap{}, namespaces: own},
		{object: &coordinationv1.Lease{}, namespaces: own},
		{object: &corev1.Event{}, fields: fightevents.Selector()},
		{object: &corev1.Namespace{}},
		{object: &networkingv1.NetworkPolicy{}},
		{object: &corev1.Pod{}, namespaces: namespaces(namespace, operands)},
		{object: &operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck{}, namespaces: []string{connectivity.Namespace}},
	}
}

// byObject returns the options of the cache.
func byObject(all []watch) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{}
	for _, w := range all {
		options := cache.ByObject{Label: w.labels, Field: w.fields}
		if len(w.namespaces) > 0 {
			options.Namespaces = map[string]cache.Config{}
			for _, ns := range w.namespaces {
				options.Namespaces[ns] = cache.Config{}
			}
		}
		out[w.object] = options
	}
	return out
}

// trim drops large fields that no page shows: managedFields, and the images of a node.
func trim(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	if n, ok := o.(*corev1.Node); ok {
		n.Status.Images = nil
	}
	return o, nil
}
