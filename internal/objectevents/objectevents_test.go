package objectevents_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// The recorder takes events of the same object, reason and action for repetitions of the first one.
func TestEachProblemOfAnObjectIsAnEvent(t *testing.T) {
	client := fake.NewClientset()
	reporter, err := objectevents.New(t.Context(), client, scheme.Scheme, "test", slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}
	one, other := objectevents.Problem{Object: node, Reason: "Wrong", Message: "one"}, objectevents.Problem{Object: node, Reason: "Wrong", Message: "other"}
	reporter.Report("topic", []objectevents.Problem{one})
	reporter.Report("topic", []objectevents.Problem{one, other})
	if n := reporter.Count(); n != 2 {
		t.Errorf("%d problems are counted", n)
	}
	eventually.Holds(t, "both are events", func() (string, bool) {
		list, err := client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error(), false
		}
		var notes []string
		for _, e := range list.Items {
			notes = append(notes, e.Note)
		}
		slices.Sort(notes)
		return fmt.Sprint(notes), slices.Equal(notes, []string{"one", "other"})
	})
}
