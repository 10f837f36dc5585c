package node

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// A pod that fails for another reason than before has an event for each, also if they are very long.
func TestEachErrorOfAPodIsAnEvent(t *testing.T) {
	s := apitest.Shared(t)
	ns := s.Namespace(t)
	clients, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEvents(t.Context(), clients)
	if err != nil {
		t.Fatal(err)
	}
	pod := wire.Pod{Namespace: ns, Name: "a", UID: "u"}
	long := strings.Repeat("ü", 2000)
	for _, text := range []string{"no address left", "no interface eth7", "no address left", long} {
		e.warn(pod, reasonFailed, text)
	}
	want := []string{"no address left", "no interface eth7", long[:1020] + "..."}
	eventually.Holds(t, "each error has an event", func() (string, bool) {
		var list eventsv1.EventList
		if err := s.Client.List(t.Context(), &list, client.InNamespace(ns)); err != nil {
			return err.Error(), false
		}
		var notes []string
		for _, event := range list.Items {
			notes = append(notes, event.Note)
		}
		slices.Sort(notes)
		diff := cmp.Diff(want, notes)
		return diff, diff == ""
	})
}
