package page

import "testing"

func TestNodesOnAPathAreDescribed(t *testing.T) {
	for _, row := range []struct{ why, state, cause, want string }{
		{"a node that works", NodeReady, "", "is ready"},
		{"new pods only are affected", NodeCordoned, "", "is cordoned"},
		{"the identifier of the state is not shown", NodeAgent, "pods of the network are not ready: a/b", "is ready; pods of the network are not ready: a/b"},
		{"packets do not pass", NodeDown, "KubeletNotReady: stopped", "is not ready: KubeletNotReady: stopped"},
	} {
		if got := nodeStep(row.state, row.cause); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}
