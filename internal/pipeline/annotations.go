package pipeline

import (
	"fmt"
	"regexp"
)

// AllowUnsafeAnnotation is the annotation with which a person permits the API server to store an unsafe change.
const AllowUnsafeAnnotation = "networkoperator.openshift.io/allow-unsafe"

// hashForm is that of the hashes that acknowledge a change.
var hashForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// AnnotationProblems are the annotations of a Network whose values have no effect, each as a sentence with the way out. An
// annotation that does not exist is no problem.
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
	return problems
}
