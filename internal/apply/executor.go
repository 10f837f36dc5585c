// Package apply executes plans of package plan: it creates, updates and deletes objects by server-side apply with one
// field manager, and keeps the inventory of applied objects.
//
// It can be stopped between any two requests. The inventory has an object before it is created and until it is deleted;
// every step is idempotent. The next plan starts from the state in which the last one ended.
//
// It must never delete an object whose UID it has not seen, or that lacks the operator's label. It never waits for
// workloads: actions that have to wait for them belong to a later plan.
package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// Executor executes plans, one at a time. Client, Namespace and Log must be set.
type Executor struct {
	Client Client
	// Namespace is that of the inventory.
	Namespace string
	Log       *slog.Logger
	// Concurrency is the number of concurrent requests; 0 means 8.
	Concurrency int
	// RequestTimeout is the timeout of one request; 0 means 15 s, slightly more than the default of 10 s of admission
	// webhooks, so that the error of the API server names the webhook that timed out.
	RequestTimeout time.Duration
	// SettleTimeout is the timeout for a CRD to become established, and for an object that is recreated to be deleted; 0
	// means 30 s.
	SettleTimeout time.Duration
}

const (
	defaultConcurrency    = 8
	defaultRequestTimeout = 15 * time.Second
	defaultSettleTimeout  = 30 * time.Second
	// settlePoll is the poll interval of these waits. A CRD takes about 100 ms.
	settlePoll = 50 * time.Millisecond
)

// Result is the result of a plan.
type Result struct {
	// Outcomes are those of actions that changed something, failed or have reasons, in the order of the plan.
	Outcomes []Outcome
	// Inventory is the stored inventory.
	Inventory plan.Inventory
}

// Outcome is the result of one action.
type Outcome struct {
	plan.Action
	// Err is an *Error, or nil.
	Err error
}

// Execute executes a plan. After a failure it continues with all actions that do not depend on it; the error joins all
// *Error values. If an object could not be applied, nothing is deleted.
func (e Executor) Execute(ctx context.Context, p plan.Plan) (Result, error) {
	r := run{Executor: e.withDefaults(), done: map[manifest.Key]plan.Done{}, outcomes: make([]Outcome, len(p.Actions)), failed: map[manifest.Key]bool{}}
	stored, p := p.Inventory, r.refresh(ctx, p)
	if before, more := p.Before(); more {
		if err := r.storeInventory(ctx, before); err != nil {
			return Result{Inventory: stored}, fmt.Errorf("store inventory before applying: %w", err)
		}
		stored = before
	}
	r.actions(ctx, p.Actions)
	errs := r.errors()
	if after := p.After(r.done); !after.Equal(stored) {
		if err := r.storeInventory(ctx, after); err != nil {
			errs = append(errs, fmt.Errorf("store inventory after applying: %w", err))
		} else {
			stored = after
		}
	}
	outcomes := slices.DeleteFunc(r.outcomes, func(o Outcome) bool { return o.Verb == plan.None && o.Err == nil })
	return Result{Outcomes: outcomes, Inventory: stored}, errors.Join(errs...)
}

func (e Executor) withDefaults() Executor {
	if e.Concurrency <= 0 {
		e.Concurrency = defaultConcurrency
	}
	if e.RequestTimeout <= 0 {
		e.RequestTimeout = defaultRequestTimeout
	}
	if e.SettleTimeout <= 0 {
		e.SettleTimeout = defaultSettleTimeout
	}
	return e
}

// run is one execution.
type run struct {
	Executor
	mu       sync.Mutex
	done     map[manifest.Key]plan.Done
	failed   map[manifest.Key]bool  // namespaces and CRDs that could not be applied
	unknown  map[manifest.Key]error // objects that could not be read
	outcomes []Outcome
}

// actions executes actions, those of the same rank concurrently.
func (r *run) actions(ctx context.Context, actions []plan.Action) {
	waits := kindsToWaitFor(actions)
	for start := 0; start < len(actions); {
		end := start + 1
		for end < len(actions) && sameStage(actions[start], actions[end]) {
			end++
		}
		var group errgroup.Group
		group.SetLimit(r.Concurrency)
		for i := start; i < end; i++ {
			if a := actions[i]; !a.Writes() && a.Verb != plan.Delete {
				r.note(i, a, blocked(a))
				continue
			}
			group.Go(func() error {
				r.note(i, actions[i], nil)
				err := r.action(ctx, actions[i], &r.outcomes[i].Action, waits)
				r.note(i, r.outcomes[i].Action, err)
				return nil
			})
		}
		_ = group.Wait() // the errors are in the outcomes
		start = end
	}
}

func sameStage(a, b plan.Action) bool {
	deletion := func(a plan.Action) bool { return a.Verb == plan.Delete || a.Verb == plan.Keep }
	return manifest.Rank(a.Key.GroupKind()) == manifest.Rank(b.Key.GroupKind()) && deletion(a) == deletion(b)
}

// note records the result of the action at an index.
func (r *run) note(i int, a plan.Action, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[i] = Outcome{Action: a, Err: err}
	if err != nil && a.Verb != plan.Keep {
		r.failed[a.Key] = true
	}
}

func (r *run) errors() []error {
	var errs []error
	for _, o := range r.outcomes {
		if o.Err != nil {
			errs = append(errs, o.Err)
		}
	}
	return errs
}

// action executes one action that sends requests. It may change it: an object that cannot be deleted is kept.
func (r *run) action(ctx context.Context, a plan.Action, as *plan.Action, waits waits) error {
	if a.Verb == plan.Delete {
		return r.delete(ctx, a, as)
	}
	if err := r.unknown[a.Key]; err != nil {
		return newError(a, err)
	}
	if needed, missing := r.misses(a, waits); missing {
		return newError(a, fmt.Errorf("%w: %s", errDependency, needed))
	}
	uid, err := r.write(ctx, a, waits)
	if err != nil {
		return newError(a, err)
	}
	r.mu.Lock()
	r.done[a.Key] = plan.Done{UID: uid}
	r.mu.Unlock()
	r.Log.InfoContext(ctx, "applied", "verb", a.Verb, "object", a.Key.String(), "why", a.Reasons)
	return nil
}

// misses returns the namespace or the CRD that an object needs, if it could not be applied.
func (r *run) misses(a plan.Action, waits waits) (manifest.Key, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, needed := range []manifest.Key{{Kind: "Namespace", Name: a.Key.Namespace}, waits.crdOf[a.Key.GroupKind()]} {
		if r.failed[needed] {
			return needed, true
		}
	}
	return manifest.Key{}, false
}

// write applies a wanted object and returns its UID.
func (r *run) write(ctx context.Context, a plan.Action, waits waits) (types.UID, error) {
	if a.Verb == plan.Recreate {
		if err := r.clear(ctx, a); err != nil {
			return "", err
		}
	}
	live, err := r.apply(ctx, a.Wanted(), waits)
	if apierrors.IsInvalid(err) && !deniedByPolicy(err) && a.Verb == plan.Apply {
		live, err = r.replace(ctx, a, err)
	}
	if err != nil {
		return "", err
	}
	if waits.crds[a.Key] {
		if err := r.awaitEstablished(ctx, refOf(a), live); err != nil {
			return "", err
		}
	}
	return live.GetUID(), nil
}

// clear deletes an object that is recreated, and waits until it is deleted.
func (r *run) clear(ctx context.Context, a plan.Action) error {
	propagation := metav1.DeletePropagationBackground
	if a.Orphan {
		propagation = metav1.DeletePropagationOrphan
	}
	if err := r.remove(ctx, refOf(a), a.UID, propagation); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return r.poll(ctx, "to be deleted", func() (bool, error) {
		live, err := r.get(ctx, refOf(a))
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && live.GetUID() != a.UID, err
	})
}

func refOf(a plan.Action) Ref {
	return Ref{GroupVersionKind: a.GVK(), NamespacedName: types.NamespacedName{Namespace: a.Key.Namespace, Name: a.Key.Name}}
}
