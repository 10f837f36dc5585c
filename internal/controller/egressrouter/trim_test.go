package egressrouter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// TestCachesTrimUnrelatedLabeledObjects: a tenant can give the label to objects of any size.
func TestCachesTrimUnrelatedLabeledObjects(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	isController := true
	router := []metav1.OwnerReference{{APIVersion: networkv1.GroupVersion.String(), Kind: Kind.Kind, Name: "r", UID: "1", Controller: &isController}}
	meta := func(owners []metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: "shop", Name: "a", UID: "2", ResourceVersion: "3", Annotations: map[string]string{"large": large, annotationRouter: "r"},
			Labels: map[string]string{manifest.LabelComponent: component, LabelRouter: "r", "other": "x"}, OwnerReferences: owners,
		}
	}
	kept := map[string]string{manifest.LabelComponent: component, LabelRouter: "r"}
	attachment := func(owners []metav1.OwnerReference) *unstructured.Unstructured {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: meta(owners)})
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(kindAttachment)
		u.Object["spec"] = map[string]any{"config": large}
		return u
	}
	for name, tc := range map[string]struct {
		object client.Object
		whole  bool
	}{
		"a Deployment of a tenant":     {&appsv1.Deployment{ObjectMeta: meta(nil)}, false},
		"a Deployment of a router":     {&appsv1.Deployment{ObjectMeta: meta(router)}, true},
		"an attachment of a tenant":    {attachment(nil), false},
		"an attachment of a router":    {attachment(router), true},
		"a pod of a tenant":            {&corev1.Pod{ObjectMeta: meta(nil), Spec: corev1.PodSpec{Hostname: large}}, false},
		"a pod of a router's workload": {&corev1.Pod{ObjectMeta: meta(router), Spec: corev1.PodSpec{Hostname: large}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			owner := metav1.GetControllerOf(tc.object)
			got, err := trim(tc.object.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			if tc.whole {
				if diff := cmp.Diff(tc.object, got); diff != "" {
					t.Error(diff)
				}
				return
			}
			object, ok := got.(client.Object)
			if !ok {
				t.Fatalf("%T", got)
			}
			if diff := cmp.Diff(kept, object.GetLabels()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(owner, metav1.GetControllerOf(object)); diff != "" {
				t.Error(diff)
			}
			if object.GetUID() != "2" || object.GetResourceVersion() != "3" || object.GetAnnotations()[annotationRouter] != "r" {
				t.Errorf("lost its owner: %+v", object)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				t.Fatal(err)
			}
			text, err := (&unstructured.Unstructured{Object: content}).MarshalJSON()
			if err == nil && len(text) > 2000 {
				t.Errorf("%d bytes are kept", len(text))
			}
		})
	}
}
