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
			o.record("pods", 0, errors.New("connection refused"))
			o.record("pods", 0, nil)
			open(pods, policies)
		}, resumeQuiet},
		{"a watch resumes later", func(o *objects, pods, policies *watched) {
			o.record("pods", 0, errors.New("connection refused"))
			o.record("pods", 0, nil)
			open(pods)
			go func() { time.Sleep(time.Second); open(policies) }()
		}, time.Second + resumeQuiet},
		{"an object changes later", func(o *objects, pods, policies *watched) {
			o.record("policies", 0, errors.New("connection refused"))
			o.record("policies", 0, nil)
			open(pods, policies)
			go func() { time.Sleep(resumeQuiet / 2); o.recordChange("pod") }()
		}, resumeQuiet * 3 / 2},
		{"a watch does not resume", func(o *objects, pods, _ *watched) {
			o.record("pods", 0, errors.New("connection refused"))
			o.record("policies", 0, errors.New("connection refused"))
			o.record("pods", 0, nil)
			open(pods)
		}, resumeLimit},
		{"the server fails again: flows follow what is known", func(o *objects, _, _ *watched) {
			o.record("pods", 0, errors.New("connection refused"))
			o.record("pods", 0, nil)
			o.record("pods", 1, errors.New("connection refused"))
		}, 0},
		{"a request that was made in the outage fails after it", func(o *objects, pods, policies *watched) {
			o.record("pods", 0, errors.New("connection refused"))
			o.record("pods", 0, nil)
			o.record("policies", 0, errors.New("timeout"))
			open(pods)
			go func() { time.Sleep(time.Second); open(policies) }()
		}, time.Second + resumeQuiet},
		{"requests wait for the server and do not fail", func(o *objects, pods, policies *watched) {
			open(pods, policies)
			end(o, pods, policies)
			o.record("pods", 0, nil)
			open(pods)
			go func() { time.Sleep(time.Second); open(policies) }()
		}, time.Second + resumeQuiet},
		{"a watch is renewed", func(o *objects, pods, policies *watched) {
			open(pods, policies)
			end(o, pods)
			o.record("pods", 0, nil)
			open(pods)
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

// end ends the watches of kinds.
func end(o *objects, kinds ...*watched) {
	for _, w := range kinds {
		w.open.Add(-1)
		o.closed()
	}
}

// TestWatchesAreCounted: a watch is open until it ends or is stopped, and passes all events.
func TestWatchesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ends := &watched{}, 0
		for _, end := range []func(server *watch.FakeWatcher, client watch.Interface){
			func(server *watch.FakeWatcher, _ watch.Interface) { server.Stop() },
			func(_ *watch.FakeWatcher, client watch.Interface) { client.Stop() },
		} {
			server := watch.NewFake()
			client := w.counted(server, func() { ends++ })
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
		synctest.Wait()
		if ends != 2 {
			t.Errorf("%d ends are reported", ends)
		}
	})
}
