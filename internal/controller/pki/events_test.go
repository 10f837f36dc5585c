package pki

import (
	"strings"
	"testing"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

func TestEachFailureIsAnEvent(t *testing.T) {
	server := apitest.Shared(t)
	w := newCluster(t, "", quick().Spec)
	w.Events = server.Recorder(t, Name)
	long := strings.Repeat("ü", 1000)
	for _, text := range []string{"read Secret: timeout", "write Secret: forbidden", "read Secret: timeout", long} {
		w.recordEvents(w.pki(), event{true, "PKIError", text})
	}
	server.AwaitNotes(t, w.pki(), "PKIError", "read Secret: timeout", "write Secret: forbidden", phrase.Note(long))
}
