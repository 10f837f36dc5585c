package manifest

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// serverMetadata are the fields of metadata that only the API server sets.
var serverMetadata = [...]string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid"}

// New returns the Object of a typed (or unstructured) one, which it does not change. The kind comes from the Go type.
//
// The result has only fields that were set: no null, no status, no field that the server sets, and no empty struct held
// by value ("resources: {}", "strategy: {}"), so that server-side apply does not make the operator the owner of fields
// that it does not set. Empty values with a meaning stay: a pointer to an empty struct ("emptyDir: {}"), an empty
// selector ("podSelector: {}" selects everything), an empty list entry ("ingress: [{}]"), and everything but null in an
// unstructured object of a kind without Go type.
func New(obj Typed, p Policy) (Object, error) {
	gvk, err := kindOf(obj)
	if err != nil {
		return Object{}, fmt.Errorf("create manifest of %T: %w", obj, err)
	}
	if err := named(obj); err != nil {
		return Object{}, fmt.Errorf("create manifest of %s: %w", gvk.Kind, err)
	}
	content, err := content(obj)
	if err != nil {
		return Object{}, fmt.Errorf("create manifest of %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "status")
	for _, field := range serverMetadata {
		unstructured.RemoveNestedField(content, "metadata", field)
	}
	return Object{Object: u, Policy: p}, nil
}

func named(obj Typed) error {
	switch {
	case obj.GetName() == "" && obj.GetGenerateName() != "":
		return errors.New("generateName creates another object each time; set metadata.name")
	case obj.GetName() == "":
		return errors.New("it has no name")
	}
	return nil
}

// content returns the content of an object as a tree that shares no memory with it.
func content(obj Typed) (map[string]any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := runtime.DeepCopyJSON(u.Object)
		dropNulls(content)
		typed, err := newFor(u.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if _, ok := typed.(*unstructured.Unstructured); ok {
			return content, nil
		}
		// Decoding into the Go type converts values to the form in which the API server returns them.
		const strict = true
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, typed, strict); err != nil {
			return nil, err
		}
		obj = typed
	}
	if secret, ok := obj.(*corev1.Secret); ok && len(secret.StringData) > 0 {
		obj = withoutStringData(secret)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	dropUnset(obj, content)
	return content, nil
}

// withoutStringData moves the values of stringData, which the API server never returns, to data.
func withoutStringData(secret *corev1.Secret) *corev1.Secret {
	secret = secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
	return secret
}
