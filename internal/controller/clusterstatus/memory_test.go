package clusterstatus

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/status"
)

// refusing is a client whose writes fail.
type refusing struct{ client.Client }

func (refusing) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errors.New("failed calling webhook")
}

func TestAProblemBecomesDegradedAlthoughNothingCanBeWritten(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := memory{client: refusing{}, namespace: "ns", log: slog.New(slog.DiscardHandler), loaded: true}
	degraded := func(after time.Duration) osv1.ConditionStatus {
		d := status.Decide(status.Input{Now: start.Add(after), Memory: m.of,
			Findings: []status.Finding{{Effect: status.Degraded, Reason: "ApplyOperatorConfig", Message: "m", Meanwhile: status.Progressing}}})
		m.seen(d)
		if err := m.save(t.Context(), d); err == nil {
			t.Fatal("the memory was written")
		}
		for _, c := range d.Conditions {
			if c.Type == "Degraded" {
				return c.Status
			}
		}
		return ""
	}
	for _, row := range []struct {
		after time.Duration
		want  osv1.ConditionStatus
	}{{0, "False"}, {time.Minute, "False"}, {119 * time.Second, "False"}, {2 * time.Minute, "True"}} {
		if got := degraded(row.after); got != row.want {
			t.Errorf("after %s Degraded is %s, want %s", row.after, got, row.want)
		}
	}
}
