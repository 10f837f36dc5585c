package crdcheck

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metadata returns the errors of labels and annotations, which no schema describes: those of their names and of their total size.
func metadata(object map[string]any) field.ErrorList {
	path := field.NewPath("metadata")
	labels, _, err := unstructured.NestedStringMap(object, "metadata", "labels")
	if err != nil {
		return field.ErrorList{field.TypeInvalid(path.Child("labels"), nil, "must be a mapping of strings").WithOrigin(RuleMetadata)}
	}
	annotations, _, err := unstructured.NestedStringMap(object, "metadata", "annotations")
	if err != nil {
		return field.ErrorList{field.TypeInvalid(path.Child("annotations"), nil, `must be a mapping of strings; write numbers and booleans in quotes, e.g. "true"`).WithOrigin(RuleMetadata)}
	}
	errs := metav1validation.ValidateLabels(labels, path.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(annotations, path.Child("annotations"))...)
	for _, e := range errs {
		e.Origin = RuleMetadata
	}
	return errs
}
