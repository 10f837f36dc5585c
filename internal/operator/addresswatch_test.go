package operator

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestOperatorSelectsAnotherAPIServerForOperandsWhenUnreachable(t *testing.T) {
	for _, tt := range []struct {
		why string
		// answers reports whether the API server answers after a time.
		answers func(time.Duration) bool
		// ends is when the operator ends; 0 is never.
		ends time.Duration
	}{
		{"it answers", func(time.Duration) bool { return true }, 0},
		{"its node is deleted when the operator gets the lease", func(time.Duration) bool { return false }, addressGone},
		{"its node is deleted later", func(at time.Duration) bool { return at < time.Hour }, time.Hour + addressGone - addressProbe},
		{"it restarts", func(at time.Duration) bool { return at < time.Hour || at > time.Hour+addressGone/2 }, 0},
		{"it restarts repeatedly", func(at time.Duration) bool { return at%addressGone == 0 }, 0},
	} {
		t.Run(tt.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				var ended time.Duration
				w := &addressWatch{at: facts.HostPort{Host: "192.0.2.1", Port: 6443}, log: slog.New(slog.DiscardHandler),
					probe: func(context.Context) error {
						if tt.answers(time.Since(begin)) {
							return nil
						}
						return errors.New("no route to host")
					},
					end: func() { ended = time.Since(begin) },
				}
				if err := w.Start(ctx); err != nil {
					t.Fatal(err)
				}
				if ended != tt.ends {
					t.Errorf("the operator ends after %s, want %s", ended, tt.ends)
				}
			})
		})
	}
}
