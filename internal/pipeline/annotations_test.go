package pipeline

import (
	"strings"
	"testing"
)

func TestAnnotationsWithoutEffectAreNamed(t *testing.T) {
	hash := strings.Repeat("0a", 16)
	for _, row := range []struct {
		why, name, value string
		problem          bool
	}{
		{"a pause", PausedAnnotation, "true", false},
		{"no pause", PausedAnnotation, "false", false},
		{"a pause that is none", PausedAnnotation, "yes", true},
		{"another case", PausedAnnotation, "True", true},
		{"a hash", AcknowledgeAnnotation, hash, false},
		{"no hash", AcknowledgeAnnotation, "nonsense", true},
		{"a hash that was removed", AcknowledgeAnnotation, "", false},
		{"permission", AllowUnsafeAnnotation, "true", false},
		{"an empty permission", AllowUnsafeAnnotation, "", true},
		{"a deletion in other words", AllowDeletionAnnotation, "yes", true},
		{"a deletion", AllowDeletionAnnotation, "true", false},
		{"a name that is nearly one", "networkoperator.openshift.io/pause", "true", true},
		{"a name in another case", "networkoperator.openshift.io/Allow-Unsafe", "true", true},
		{"what the operator writes beside a pause", PausedAnnotation + "-by", "admin", false},
		{"an annotation of another part of the operator", "networkoperator.openshift.io/rollout-hung", "true", false},
		{"an annotation of a third party", "example.com/paused", "yes", false},
	} {
		got := AnnotationProblems(map[string]string{row.name: row.value})
		if (len(got) > 0) != row.problem || row.problem && !strings.Contains(got[0], row.name) {
			t.Errorf("%s: %q", row.why, got)
		}
	}
	if got := AnnotationProblems(nil); got != nil {
		t.Errorf("without annotations: %q", got)
	}
}
