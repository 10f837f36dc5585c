package pipeline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cluster-network-operator/cno/internal/suggest"
)

// annotationPrefix begins the names of all annotations of a Network that the operator reads or writes.
const annotationPrefix = "networkoperator.openshift.io/"

// AllowUnsafeAnnotation is the annotation with which a person permits the API server to store an unsafe change.
const AllowUnsafeAnnotation = annotationPrefix + "allow-unsafe"

// AllowDeletionAnnotation is the annotation with which a person permits the API server to delete the object.
const AllowDeletionAnnotation = annotationPrefix + "allow-deletion"

// hashForm matches the hashes that acknowledge a change.
var hashForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// AnnotationProblems returns a sentence for each annotation of a Network that has no effect because its value is invalid or its name is
// misspelled, with the way out. Annotations of third parties are skipped.
func AnnotationProblems(annotations map[string]string) []string {
	var problems []string
	if value, set := annotations[PausedAnnotation]; set && value != "true" && value != "false" {
		problems = append(problems, fmt.Sprintf(`the annotation %s is %q and has no effect: only "true" pauses the operator; run cno pause, or remove it`, PausedAnnotation, value))
	}
	if value, set := annotations[AcknowledgeAnnotation]; set && value != "" && !hashForm.MatchString(value) {
		problems = append(problems, fmt.Sprintf("the annotation %s is %q and acknowledges nothing: it must be the hash that cno plan prints", AcknowledgeAnnotation, value))
	}
	if value, set := annotations[AllowUnsafeAnnotation]; set && value != "true" && value != "false" {
		problems = append(problems, fmt.Sprintf(`the annotation %s is %q and has no effect: only "true" permits an unsafe change; remove it`, AllowUnsafeAnnotation, value))
	}
	if value, set := annotations[AllowDeletionAnnotation]; set && value != "true" && value != "false" {
		problems = append(problems, fmt.Sprintf(`the annotation %s is %q and has no effect: only "true" permits the deletion; remove it`, AllowDeletionAnnotation, value))
	}
	return append(problems, misspelled(annotations)...)
}

// misspelled returns a sentence for each annotation with the operator's prefix that is nearly one of those that people set.
func misspelled(annotations map[string]string) []string {
	set := []string{PausedAnnotation, AcknowledgeAnnotation, AllowUnsafeAnnotation, AllowDeletionAnnotation}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if !strings.HasPrefix(name, annotationPrefix) || slices.Contains(set, name) {
			continue
		}
		if meant, ok := suggest.Closest(name, set, typoDistance); ok {
			problems = append(problems, fmt.Sprintf("the annotation %s does not exist and has no effect; did you mean %s?", name, meant))
		}
	}
	return problems
}
