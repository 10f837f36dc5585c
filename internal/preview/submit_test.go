package preview

import (
	"errors"
	"strings"
	"testing"
)

func TestAConflictWithKubectlApplyNamesItsCauseAndTheWayOut(t *testing.T) {
	for manager, want := range map[string]string{
		"kubectl-client-side-apply": "the object was written with kubectl apply",
		"gitops":                    "take these fields over from the other field manager",
	} {
		hint := conflictHint(errors.New(`Apply failed with 1 conflict: conflict with "` + manager + `": .spec.logLevel`))
		if !strings.Contains(hint, want) || !strings.Contains(hint, "--force-conflicts") {
			t.Errorf("%s: %s", manager, hint)
		}
	}
}
