package egressrouter

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
)

// maxName is the maximum length of an object's name.
const maxName = 253

// trim limits the size of cached objects, since any tenant can add the label that the caches select. Only Deployments and attachments that an
// EgressRouter controls are kept whole. Pods keep their status and network status annotation; all others keep their name, the labels of the
// controller and the controlling owner.
func trim(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil
	}
	object.SetManagedFields(nil)
	owner := metav1.GetControllerOf(object)
	if pod, ok := object.(*corev1.Pod); ok {
		kept := &corev1.Pod{ObjectMeta: trimMeta(object, owner)}
		if report, ok := pod.Annotations[wire.AnnotationStatus]; ok && len(report) <= maxStatusBytes {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, wire.AnnotationStatus, report)
		}
		// Tenants cannot write these fields.
		kept.Spec.NodeName, kept.Status = pod.Spec.NodeName, pod.Status
		return kept, nil
	}
	if owner != nil && owner.Kind == Kind.Kind {
		return object, nil
	}
	switch whole := object.(type) {
	case *appsv1.Deployment:
		return &appsv1.Deployment{TypeMeta: whole.TypeMeta, ObjectMeta: trimMeta(object, owner)}, nil
	case *unstructured.Unstructured:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: trimMeta(object, owner)})
		if err != nil {
			return nil, fmt.Errorf("trim %s: %w", whole.GetKind(), err)
		}
		kept := &unstructured.Unstructured{Object: content}
		kept.SetGroupVersionKind(whole.GroupVersionKind())
		return kept, nil
	}
	return object, nil
}

// trimMeta returns the metadata that identifies an object and its owner.
func trimMeta(o client.Object, owner *metav1.OwnerReference) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
	}
	for _, key := range []string{manifest.LabelManagedBy, manifest.LabelComponent, LabelRouter} {
		if value, ok := o.GetLabels()[key]; ok {
			metav1.SetMetaDataLabel(&kept, key, value)
		}
	}
	if router, ok := o.GetAnnotations()[annotationRouter]; ok && len(router) <= maxName {
		metav1.SetMetaDataAnnotation(&kept, annotationRouter, router)
	}
	if owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return kept
}
