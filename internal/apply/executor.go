// Package apply carries out plans: it makes the objects in the cluster what package plan wants them to be, by
// server-side apply under one field manager, and keeps the inventory of what it has applied.
//
// It can be stopped between any two requests. The inventory names an object before the object is made, and
// forgets it after it is gone; every step does no harm when it is done again. The next plan sees how far the last
// one got.
//
// It must never delete an object whose UID it has not seen, or that lacks the operator's label, and it never waits
// for workloads: what has to wait for them is for a later plan.
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

// Executor carries out plans, one at a time. Client, Namespace and Log must be set.
type Executor struct {
	Client Client
	// Namespace is where the inventory is kept.
	Namespace string
	Log       *slog.Logger
	// Concurrency is how many requests are made at once; 0 is 8.
	Concurrency int
	// RequestTimeout is how long one request may take; 0 is 15 s, a little more than the 10 s that an admission
	// webhook has by default, so that the API server can still say which webhook did not answer.
	RequestTimeout time.Duration
	// SettleTimeout is how long to wait for a CustomResourceDefinition to be established, and for an object to be
	// gone that is recreated; 0 is 30 s.
	SettleTimeout time.Duration
}

const (
	defaultConcurrency    = 8
	defaultRequestTimeout = 15 * time.Second
	defaultSettleTimeout  = 30 * time.Second
	// settlePoll is how often it is looked whether something has settled. A CRD takes about 100 ms.
	settlePoll = 50 * time.Millisecond
)

// Result is what became of a plan.
type Result struct {
	// Outcomes are in the order of the plan, with only those actions that did something, failed or have something
	// to say.
	Outcomes []Outcome
	// Inventory is what is stored now.
	Inventory plan.Inventory
}

// Outcome is what became of one action.
type Outcome struct {
	plan.Action
	// Err is an *Error, or nil.
	Err error
}

// Execute carries out a plan. What fails does not keep it from going on with what does not depend on it; the
// error joins all *Error values. Nothing is deleted when something could not be applied.
func (e Executor) Execute(ctx context.Context, p plan.Plan) (Result, error) {
	r := run{Executor: e.withDefaults(), done: map[manifest.Key]plan.Done{}, outcomes: make([]Outcome, len(p.Actions)), failed: map[manifest.Key]bool{}}
	stored, p := p.Inventory, r.look(ctx, p)
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
	failed   map[manifest.Key]bool  // namespaces and definitions of kinds that are not there
	unknown  map[manifest.Key]error // what could not be looked for
	outcomes []Outcome
}

// actions carries out actions, all of a rank at once.
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

// note keeps what became of the action at an index.
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

// action carries out one action that makes requests. It may turn it into another one: what cannot be deleted is kept.
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

// misses returns the namespace or the definition that an object needs, if it could not be made.
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

// write brings a wanted object into the cluster, and returns its UID.
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

// clear deletes an object that is recreated, and waits until it is gone.
func (r *run) clear(ctx context.Context, a plan.Action) error {
	propagation := metav1.DeletePropagationBackground
	if a.Orphan {
		propagation = metav1.DeletePropagationOrphan
	}
	if err := r.remove(ctx, refOf(a), a.UID, propagation); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return r.settle(ctx, "to be gone", func() (bool, error) {
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
