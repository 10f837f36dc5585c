package preview

import (
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// contextLines is the number of context lines of a diff.
const contextLines = 3

// difference returns a unified diff of the YAML of two objects, either of which may be nil. It omits metadata that the API
// server manages, and values of Secrets.
func difference(key manifest.Key, before, after *unstructured.Unstructured) (string, error) {
	old, err := text(before)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", key, err)
	}
	updated, err := text(after)
	if err != nil {
		return "", fmt.Errorf("write %s: %w", key, err)
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(old), B: difflib.SplitLines(updated), FromFile: "now", ToFile: "then", Context: contextLines,
	})
}

// text returns the YAML of an object without status and metadata that the API server manages.
func text(o *unstructured.Unstructured) (string, error) {
	if o == nil {
		return "", nil
	}
	o = o.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	for _, kept := range []string{manifest.AnnotationHash, appsv1.DeprecatedTemplateGeneration} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", kept)
	}
	delete(o.Object, "status")
	if o.GetKind() == "Secret" {
		mask(o, "data")
		mask(o, "stringData")
	}
	raw, err := yaml.Marshal(o.Object)
	return strings.TrimSuffix(string(raw), "\n") + "\n", err
}

// mask replaces each value by its length.
func mask(o *unstructured.Unstructured, field string) {
	values, _, _ := unstructured.NestedMap(o.Object, field)
	for key, value := range values {
		values[key] = fmt.Sprintf("(%d bytes)", len(fmt.Sprint(value)))
	}
	if len(values) > 0 {
		o.Object[field] = values
	}
}
