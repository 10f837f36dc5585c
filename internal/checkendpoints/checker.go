// Package checkendpoints runs connectivity checks: it runs in a source pod, connects to the targets of the
// PodNetworkConnectivityChecks of that pod, and writes the results into their status.
//
// It reads only its own checks, by their label, and writes a status only if it has changed, or once an hour. While the API
// is unavailable, there is nothing to check.
package checkendpoints

import (
	"context"
	"hash/fnv"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type check = operatorcontrolplanev1alpha1.PodNetworkConnectivityCheck

// Options of a checker. Client, Namespace, Pod, Metrics, Now and Log must be set.
type Options struct {
	Client client.WithWatch
	// Namespace is that of the checks, Pod the name of this pod.
	Namespace, Pod string
	Connector      Connector
	Metrics        *Metrics
	Pace           Pace
	Now            func() time.Time
	Log            *slog.Logger
}

// Pace has the intervals of a checker. Zero values mean those of DefaultPace.
type Pace struct {
	// Interval is the time between two samples of a check whose target is reachable, Retry of one whose target is not.
	Interval, Retry time.Duration
	// Timeout is the timeout of a sample.
	Timeout time.Duration
	// Refresh is the interval of writes of an unchanged status.
	Refresh time.Duration
	// Again is the pause after a failed request to the API server.
	Again time.Duration
	// Writes is the maximum rate of status writes per second, with a burst of writeBurst.
	Writes float32
}

// DefaultPace returns the pace of sources. A failed check is repeated sooner, to distinguish an outage from a lost packet and
// to detect its end; that causes no writes.
func DefaultPace() Pace {
	return Pace{Interval: time.Minute, Retry: 15 * time.Second, Timeout: 10 * time.Second, Refresh: time.Hour, Again: 10 * time.Second, Writes: 5}
}

func (p Pace) filled() Pace {
	d := DefaultPace()
	for _, f := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&p.Interval, d.Interval}, {&p.Retry, d.Retry}, {&p.Timeout, d.Timeout}, {&p.Refresh, d.Refresh}, {&p.Again, d.Again}} {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	if p.Writes == 0 {
		p.Writes = d.Writes
	}
	return p
}

// Checker runs the checks of one pod.
type Checker struct {
	Options
	limit flowcontrol.RateLimiter
	// wake receives a value when there is a status to write.
	wake chan struct{}
	// watching is true while the watch of checks works.
	watching atomic.Bool

	mu    sync.Mutex
	tasks map[string]*task
	dirty map[string]*task
	wait  sync.WaitGroup
}

// writeBurst is the burst of status writes.
const writeBurst = 20

// New returns a checker.
func New(o Options) *Checker {
	o.Pace = o.Pace.filled()
	return &Checker{
		Options: o, limit: flowcontrol.NewTokenBucketRateLimiter(o.Pace.Writes, writeBurst),
		wake: make(chan struct{}, 1), tasks: map[string]*task{}, dirty: map[string]*task{},
	}
}

// Ready reports whether the watch of checks works. A source that is not ready cannot report its results either, so that the
// last ones are outdated.
func (c *Checker) Ready() bool { return c.watching.Load() }

// Run runs checks until the context ends, and returns when all have stopped.
func (c *Checker) Run(ctx context.Context) {
	c.wait.Go(func() { c.write(ctx) })
	c.watchChecks(ctx)
	c.assign(ctx, nil)
	c.wait.Wait()
}

// assign replaces the running checks by those of a list.
func (c *Checker) assign(ctx context.Context, list []check) {
	wanted := map[string]bool{}
	for i := range list {
		wanted[list[i].Name] = true
		c.set(ctx, &list[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.tasks {
		if !wanted[name] {
			c.drop(name)
		}
	}
}

// set starts a check, or restarts it if its target has changed.
func (c *Checker) set(ctx context.Context, object *check) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if object.Spec.SourcePod != c.Pod || object.DeletionTimestamp != nil {
		c.drop(object.Name)
		return
	}
	if t, runs := c.tasks[object.Name]; runs && t.spec == object.Spec && t.uid == object.UID {
		return
	}
	c.drop(object.Name)
	own, cancel := context.WithCancel(ctx)
	t := newTask(object, cancel)
	c.tasks[object.Name] = t
	c.wait.Go(func() { c.run(own, t) })
}

// remove stops a check.
func (c *Checker) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
}

// drop is like remove for a caller that holds the lock.
func (c *Checker) drop(name string) {
	if t, runs := c.tasks[name]; runs {
		t.cancel()
		delete(c.tasks, name)
		delete(c.dirty, name)
		c.Metrics.Forget(c.Namespace, name)
	}
}

// offset returns a fraction of a duration that depends on the name, so that checks do not run at the same time.
func offset(name string, within time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return time.Duration(uint64(within) / 1000 * uint64(h.Sum32()%1000))
}

// target returns the name of the target of a check for sentences.
func target(name string) string {
	if i := strings.LastIndex(name, "-to-"); i >= 0 {
		return name[i+len("-to-"):]
	}
	return name
}
