package manifest

import (
	"fmt"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
)

// Typed is any Kubernetes object, typed or unstructured. It has the methods of controller-runtime's client.Object.
type Typed interface {
	metav1.Object
	runtime.Object
}

// Scheme returns the types into which manifests are decoded: the groups of Kubernetes that networks use,
// CustomResourceDefinition, and this project's own. It is shared and must not be changed.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme,
		discoveryv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme,
		apiextensionsv1.AddToScheme, operatorv1.AddToScheme, networkoperatorv1.AddToScheme, networkv1.AddToScheme, sdnv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(fmt.Sprintf("two packages of API types disagree: %v", err)) // a build error
		}
	}
	return s
})

// kindOf returns the kind of an object: that of its Go type in the scheme or, for unstructured objects, the one that is
// set. A kind that differs from that of the Go type is an error.
func kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	declared := obj.GetObjectKind().GroupVersionKind()
	if _, ok := obj.(runtime.Unstructured); ok {
		if declared.Version == "" || declared.Kind == "" {
			return declared, fmt.Errorf("apiVersion and kind must be set")
		}
		return declared, nil
	}
	kinds, _, err := Scheme().ObjectKinds(obj)
	if err != nil {
		return declared, fmt.Errorf("%T is not a type of the scheme: %w", obj, err)
	}
	for _, k := range kinds {
		if declared.Empty() || declared == k {
			return k, nil
		}
	}
	return declared, fmt.Errorf("apiVersion %q, kind %q is not a %s of %s", declared.GroupVersion(), declared.Kind, kinds[0].Kind, kinds[0].GroupVersion())
}

// newFor returns an empty object for a kind: unstructured if the scheme does not have the group.
func newFor(gvk schema.GroupVersionKind) (Typed, error) {
	if !Scheme().IsGroupRegistered(gvk.Group) {
		return &unstructured.Unstructured{}, nil
	}
	obj, err := Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("apiVersion %q has no kind %q", gvk.GroupVersion(), gvk.Kind)
	}
	typed, ok := obj.(Typed)
	if !ok {
		return nil, fmt.Errorf("kind %q is not an object that can be applied", gvk.Kind)
	}
	return typed, nil
}
