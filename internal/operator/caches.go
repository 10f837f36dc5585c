package operator

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	machineconfigv1 "github.com/openshift/api/machineconfiguration/v1"
	osv1 "github.com/openshift/api/operator/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// newScheme returns the types that the controllers read and write.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, operatorv1.AddToScheme, networkoperatorv1.AddToScheme, networkv1.AddToScheme, configv1.Install,
		machineconfigv1.Install,
		operatorcontrolplanev1alpha1.Install, addIngressController,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("create scheme: %w", err)
		}
	}
	return scheme, nil
}

// addIngressController registers one kind of a group that also has this project's Network.
func addIngressController(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(osv1.GroupVersion, &osv1.IngressController{}, &osv1.IngressControllerList{})
	return nil
}

// managedByUs returns the selector of the operator's objects.
func managedByUs() labels.Selector {
	return labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy})
}

// inNamespaces returns the cache configuration of namespaces.
func inNamespaces(namespaces []string) map[string]cache.Config {
	selected := map[string]cache.Config{}
	for _, ns := range namespaces {
		selected[ns] = cache.Config{}
	}
	return selected
}

// cacheOptions limits the manager's cache: the fields of nodes that facts need, the operator's own pods, and the
// ConfigMaps of some namespaces.
func cacheOptions(namespaces []string) cache.Options {
	return cache.Options{
		DefaultTransform: stripManagedFields,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}:      {Transform: trimNode},
			&corev1.Pod{}:       {Label: managedByUs(), Transform: new(same).trimPod},
			&corev1.ConfigMap{}: {Namespaces: inNamespaces(namespaces)},
			definitions():       {Transform: trimDefinition},
		},
	}
}

// stripManagedFields drops managedFields, except those of the Network, whose author the history records. The Network has no entry of its
// own in ByObject: a cache with such an entry cannot be created before its CRD is installed.
func stripManagedFields(o any) (any, error) {
	if network, ok := o.(*operatorv1.Network); ok {
		return network, nil
	}
	return cache.TransformStripManagedFields()(o)
}

// definitions returns the metadata-only type of CustomResourceDefinitions.
func definitions() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	return m
}

// trimDefinition keeps the name and the operator's label.
func trimDefinition(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	trimmed := trimMeta(m.ObjectMeta)
	if owner := m.Labels[manifest.LabelManagedBy]; owner != "" {
		trimmed.Labels = map[string]string{manifest.LabelManagedBy: owner}
	}
	return &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: trimmed}, nil
}
