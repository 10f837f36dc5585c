// Package checkendpoints takes the samples of connectivity checks: it runs in a source pod, connects to what the
// PodNetworkConnectivityChecks of that pod name, and writes what it has found into their status.
//
// It reads its own checks only, by their label, and writes a status only when it says something else than before, or once
// an hour. It lives without the kind: until it is served, and when it no longer is, there is nothing to check.
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
	// Namespace is where the checks are, Pod the name of this pod.
	Namespace, Pod string
	Connector      Connector
	Metrics        *Metrics
	Pace           Pace
	Now            func() time.Time
	Log            *slog.Logger
}

// Pace is how often things are done. What is zero is as in DefaultPace.
type Pace struct {
	// Interval is the time between two samples of a check whose target is reachable, Retry of one whose target is not.
	Interval, Retry time.Duration
	// Timeout is how long a sample may take.
	Timeout time.Duration
	// Refresh is after how long a status is written although it says nothing new.
	Refresh time.Duration
	// Again is how long to wait after the API server has failed to answer.
	Again time.Duration
	// Writes is how many statuses are written a second, at most. Some more are at once, after a quiet time.
	Writes float32
}

// DefaultPace is what sources do. A check that fails is repeated sooner, so that an outage is told from a lost packet, and
// its end is noticed soon; it costs no writes.
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
	// wake is sent to when there is a status to write.
	wake chan struct{}
	// following is true while the API server reports changes.
	following atomic.Bool

	mu    sync.Mutex
	tasks map[string]*task
	dirty map[string]*task
	wait  sync.WaitGroup
}

// writeBurst is how many statuses are written at once after a quiet time.
const writeBurst = 20

// New returns a checker.
func New(o Options) *Checker {
	o.Pace = o.Pace.filled()
	return &Checker{
		Options: o, limit: flowcontrol.NewTokenBucketRateLimiter(o.Pace.Writes, writeBurst),
		wake: make(chan struct{}, 1), tasks: map[string]*task{}, dirty: map[string]*task{},
	}
}

// Ready reports whether the API server has told of all changes so far. A source that is not ready cannot report what it
// finds either, and no one should use what it said last.
func (c *Checker) Ready() bool { return c.following.Load() }

// Run runs checks until the context ends, and returns when all have stopped.
func (c *Checker) Run(ctx context.Context) {
	c.wait.Go(func() { c.write(ctx) })
	c.follow(ctx)
	c.assign(ctx, nil)
	c.wait.Wait()
}

// assign makes the checks that are run those of a list.
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

// set starts a check, or starts it again if it has another target.
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

// drop is remove for who holds the lock.
func (c *Checker) drop(name string) {
	if t, runs := c.tasks[name]; runs {
		t.cancel()
		delete(c.tasks, name)
		delete(c.dirty, name)
		c.Metrics.Forget(c.Namespace, name)
	}
}

// offset is a fixed part of a time, another one for each name, so that checks that begin together do not go on together.
func offset(name string, within time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return time.Duration(uint64(within) / 1000 * uint64(h.Sum32()%1000))
}

// target is the name of what a check connects to, for sentences.
func target(name string) string {
	if i := strings.LastIndex(name, "-to-"); i >= 0 {
		return name[i+len("-to-"):]
	}
	return name
}
