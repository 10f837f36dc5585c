package operator

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// TestRolloutsOfAllWorkloadsAreEvents: rollouts of several workloads begin within seconds, with the same reason.
func TestRolloutsOfAllWorkloadsAreEvents(t *testing.T) {
	server := apitest.Shared(t)
	network := newNetwork()
	server.Create(t, network)
	long := strings.Repeat("ü", 1000)
	recorder := events{server.Recorder(t, "clusterstatus")}
	for _, text := range []string{"flanneld is rolled out", "kube-proxy is rolled out", "flanneld is rolled out", long} {
		recorder.Normal(network, "RolloutStarted", text)
	}
	server.AwaitNotes(t, network, "RolloutStarted", "flanneld is rolled out", "kube-proxy is rolled out", phrase.Note(long))
}
