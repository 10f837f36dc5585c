package page

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/fight"
)

func TestRepairsOnNodesAreAmongTheChanges(t *testing.T) {
	now := time.Now()
	event := func(name, reason string, last time.Time) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: name}, Reason: reason,
			Message: "a third party removes the route", Series: &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(last)},
		}
	}
	s := source(t, event("worker-0", fight.Reason, now.Add(-time.Minute)), event("worker-1", "Rebooted", now), event("worker-2", fight.Reason, now.Add(-24*time.Hour)))
	s.Now = func() time.Time { return now }
	page, err := s.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes := slices.DeleteFunc(page.Changes, func(c Change) bool { return !strings.HasPrefix(c.What, "node ") })
	if len(changes) != 1 || changes[0].What != "node worker-0, repaired 7 times: a third party removes the route" || !changes[0].Time.Equal(now.Add(-time.Minute).UTC()) {
		t.Errorf("the changes are %+v", changes)
	}
}
