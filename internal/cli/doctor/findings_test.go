package doctor

import "testing"

// TestACauseHasItsReasonOnce: the message of a condition with several findings begins with the reason of the first.
func TestACauseHasItsReasonOnce(t *testing.T) {
	for _, row := range []struct {
		why  string
		in   state
		want string
	}{
		{"one finding", state{reason: "Deploying", message: "1 of 3"}, "Deploying: 1 of 3"},
		{"several findings", state{reason: "Deploying", message: "Deploying: 1 of 3\nFlannel: AgentSilent: x"}, "Deploying: 1 of 3\nFlannel: AgentSilent: x"},
		{"no message", state{reason: "Startup"}, "Startup"},
	} {
		if got := row.in.text(); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}
