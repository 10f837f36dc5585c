package page

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/nodestate"
)

func TestNodesOnAPathAreDescribed(t *testing.T) {
	for _, row := range []struct {
		why         string
		state       nodestate.State
		cause, want string
	}{
		{"a node that works", nodestate.Ready, "", "is ready"},
		{"new pods only are affected", nodestate.Cordoned, "", "is cordoned"},
		{"the identifier of the state is not shown", nodestate.AgentNotReady, "pods of the network are not ready: a/b", "is ready; pods of the network are not ready: a/b"},
		{"one that is reported elsewhere", nodestate.FightDetected, "routes", "is ready; routes"},
		{"packets do not pass", nodestate.NotReady, "KubeletNotReady: stopped", "is not ready: KubeletNotReady: stopped"},
	} {
		if got := nodeStep(row.state, row.cause); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}
