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

// maxName is how long the name of an object may be.
const maxName = 253

// trim bounds what the caches keep of an object: a label is all that a tenant needs to have an object in them. Whole are only
// Deployments and attachments that an EgressRouter controls. Of pods the status is kept, and what their node reports of their networks, of all else the name, the labels of the
// controller and who controls it.
func trim(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil
	}
	object.SetManagedFields(nil)
	owner := metav1.GetControllerOf(object)
	if pod, ok := object.(*corev1.Pod); ok {
		kept := &corev1.Pod{ObjectMeta: trimMeta(object, owner)}
		if report, ok := pod.Annotations[wire.AnnotationStatus]; ok && len(report) <= longestStatus {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, wire.AnnotationStatus, report)
		}
		// No tenant writes it.
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

// trimMeta keeps of metadata what identifies the owner of an object.
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
