package activity

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// wait ends after a time, or with the test.
func wait(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		return nil
	}
}

func TestLongStepsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Step
		var got []string
		stop := s.Watch(func(line string) { got = append(got, line) })
		go func() { _ = s.Do(t.Context(), "start etcd of cp-0", wait(9*time.Second)) }()
		go func() {
			_ = s.Do(t.Context(), "await the API server of cp-0", func(ctx context.Context) error {
				Note(ctx, "kubectl get: exit status 1\nmore of it")
				_ = wait(15 * time.Second)(ctx)
				Note(ctx, "readyz: not yet")
				return wait(10 * time.Second)(ctx)
			})
		}()
		time.Sleep(time.Minute)
		stop()
		want := []string{
			"await the API server of cp-0, for 10s: kubectl get: exit status 1",
			"await the API server of cp-0, for 20s: readyz: not yet",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLinesOfACommandAreNotes(t *testing.T) {
	for name, tt := range map[string]struct {
		pieces []string
		want   string
	}{
		"the last line":                        {[]string{"one\ntwo\n"}, "two"},
		"a line in pieces":                     {[]string{"on", "e\n"}, "one"},
		"a line that has begun":                {[]string{"one\n", "[2/8] etcd ..."}, "[2/8] etcd ..."},
		"nothing but ends of lines is no line": {[]string{"one\n", " "}, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			var s Step
			err := s.Do(t.Context(), "step", func(ctx context.Context) error {
				w := Lines(ctx)
				for _, piece := range tt.pieces {
					if _, err := w.Write([]byte(piece)); err != nil {
						return err
					}
				}
				got := ctx.Value(key{}).(*part).note
				if got != tt.want {
					t.Errorf("the note is %q, want %q", got, tt.want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestANoteOutsideOfAStepIsIgnored(t *testing.T) {
	Note(t.Context(), "no part")
}
