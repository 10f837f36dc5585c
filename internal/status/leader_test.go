package status

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLeaseAgeUsesTheNewestClock(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	holder := metav1.NewMicroTime(at)
	server := metav1.NewTime(at.Add(time.Hour))
	for _, row := range []struct {
		why   string
		lease coordinationv1.Lease
		want  time.Time
	}{
		{"a lease that was never held", coordinationv1.Lease{}, time.Time{}},
		{"the time of the holder", coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &holder}}, at},
		{"the holder's clock is slow", coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Time: &server}, {}}}, Spec: coordinationv1.LeaseSpec{RenewTime: &holder}}, at.Add(time.Hour)},
	} {
		if got := Renewed(&row.lease); !got.Equal(row.want) {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}
