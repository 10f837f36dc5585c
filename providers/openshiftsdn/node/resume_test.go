package node

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// TestWatchesResumeTogether: after an outage, one watch that the API server answers makes all others try again.
func TestWatchesResumeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := emptyObjects(func() {})
		var up atomic.Bool
		ends := make([]time.Time, 7)
		var all sync.WaitGroup
		for i := range ends {
			all.Go(func() {
				err := o.answered(t.Context(), fmt.Sprint(i), func() error {
					if !up.Load() {
						return errors.New("connection refused")
					}
					return nil
				})
				if ends[i] = time.Now(); err != nil {
					t.Errorf("watch %d: %v", i, err)
				}
			})
		}
		time.Sleep(10 * time.Minute)
		if o.problem() == nil {
			t.Error("the outage is not reported")
		}
		up.Store(true)
		all.Wait()
		for i, end := range ends {
			if end != ends[0] {
				t.Errorf("watch %d resumes %s after the first", i, end.Sub(ends[0]))
			}
		}
		if err := o.problem(); err != nil {
			t.Errorf("after the outage: %v", err)
		}
	})
}

func TestUnanswered(t *testing.T) {
	for _, row := range []struct {
		why  string
		err  error
		want bool
	}{
		{"success", nil, false},
		{"nothing listens", errors.New("connection refused"), true},
		{"a proxy answers for a server that is down", apierrors.NewServiceUnavailable("no endpoint"), true},
		{"the server refuses the request", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")), false},
		{"the watch must start over", apierrors.NewResourceExpired("too old"), false},
	} {
		if got := unanswered(row.err); got != row.want {
			t.Errorf("%s: %t", row.why, got)
		}
	}
}

// TestFlowsWaitForAllWatches: after an outage, until all watches are open and have received what has changed, but not longer than a limit.
func TestFlowsWaitForAllWatches(t *testing.T) {
	for _, row := range []struct {
		why  string
		play func(o *objects, pods, policies *watched)
		want time.Duration
	}{
		{"no outage", func(*objects, *watched, *watched) {}, 0},
		{"nothing has changed", func(o *objects, pods, policies *watched) {
			o.record("pods", errors.New("connection refused"))
			o.record("pods", nil)
			open(pods, policies)
		}, resumeQuiet},
		{"a watch resumes later", func(o *objects, pods, policies *watched) {
			o.record("pods", errors.New("connection refused"))
			o.record("pods", nil)
			open(pods)
			go func() { time.Sleep(time.Second); open(policies) }()
		}, time.Second + resumeQuiet},
		{"an object changes later", func(o *objects, pods, policies *watched) {
			o.record("policies", errors.New("connection refused"))
			o.record("policies", nil)
			open(pods, policies)
			go func() { time.Sleep(resumeQuiet / 2); o.recordChange("pod") }()
		}, resumeQuiet * 3 / 2},
		{"a watch does not resume", func(o *objects, pods, _ *watched) {
			o.record("pods", errors.New("connection refused"))
			o.record("policies", errors.New("connection refused"))
			o.record("pods", nil)
			open(pods)
		}, resumeLimit},
		{"the server fails again: flows follow what is known", func(o *objects, _, _ *watched) {
			o.record("pods", errors.New("connection refused"))
			o.record("pods", nil)
			o.record("pods", errors.New("connection refused"))
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, pods, policies := emptyObjects(func() {}), &watched{resource: "pods"}, &watched{resource: "policies"}
			o.watched = []*watched{pods, policies}
			time.Sleep(time.Minute)
			begin := time.Now()
			row.play(o, pods, policies)
			const step = time.Millisecond
			for o.resuming() {
				time.Sleep(step)
			}
			if got := time.Since(begin); got < row.want || got > row.want+step {
				t.Errorf("%s: flows wait %s, want %s", row.why, got, row.want)
			}
			time.Sleep(resumeLimit)
			if o.resuming() {
				t.Errorf("%s: flows wait again", row.why)
			}
		})
	}
}

// open opens a watch of each kind, which has no events.
func open(kinds ...*watched) {
	for _, w := range kinds {
		w.received()
		w.open.Add(1)
	}
}

// TestWatchesAreCounted: a watch is open until it ends or is stopped, and passes all events.
func TestWatchesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{}
		for _, end := range []func(server *watch.FakeWatcher, client watch.Interface){
			func(server *watch.FakeWatcher, _ watch.Interface) { server.Stop() },
			func(_ *watch.FakeWatcher, client watch.Interface) { client.Stop() },
		} {
			server := watch.NewFake()
			client := w.counted(server)
			go server.Action(watch.Bookmark, nil)
			time.Sleep(time.Minute)
			if e := <-client.ResultChan(); e.Type != watch.Bookmark || w.silence() > time.Minute || w.open.Load() != 1 {
				t.Errorf("the event is %v, the last one %s ago, %d watches are open", e, w.silence(), w.open.Load())
			}
			end(server, client)
			for range client.ResultChan() {
				t.Error("an event after the end")
			}
			if n := w.open.Load(); n != 0 {
				t.Errorf("%d watches are open after the end", n)
			}
		}
	})
}
