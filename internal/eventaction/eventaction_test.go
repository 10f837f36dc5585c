package eventaction

import (
	"strings"
	"testing"
)

func TestTextsHaveTheirOwnActions(t *testing.T) {
	one, other := Of("Validate", "a is wrong"), Of("Validate", "b is wrong")
	if one == other || one != Of("Validate", "a is wrong") {
		t.Errorf("the actions are %q and %q", one, other)
	}
	if !strings.HasPrefix(one, "Validate-") {
		t.Errorf("the action %q does not begin with the verb", one)
	}
}
