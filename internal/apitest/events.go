package apitest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// Recorder returns a recorder of a component that sends events to the server, like that of a manager. It takes events of the same object, reason and action
// for repetitions and drops their texts, and the server refuses texts that are too long or not UTF-8; a fake recorder does neither.
func (s *Server) Recorder(tb testing.TB, component string) events.EventRecorder {
	tb.Helper()
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		tb.Fatal(err)
	}
	scheme, err := Scheme()
	if err != nil {
		tb.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: clients.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(broadcaster.Shutdown)
	return broadcaster.NewRecorder(scheme, component)
}

// AwaitNotes waits until the notes of the events of a reason about an object are these. Their order does not matter.
func (s *Server) AwaitNotes(tb testing.TB, about client.Object, reason string, want ...string) {
	tb.Helper()
	slices.Sort(want)
	eventually.Holds(tb, "each text is an event", func() (string, bool) {
		var list eventsv1.EventList
		if err := s.Client.List(tb.Context(), &list); err != nil {
			return err.Error(), false
		}
		var notes []string
		for _, e := range list.Items {
			if e.Regarding.UID == about.GetUID() && e.Reason == reason {
				notes = append(notes, e.Note)
			}
		}
		slices.Sort(notes)
		diff := cmp.Diff(want, notes)
		return diff, diff == ""
	})
}
