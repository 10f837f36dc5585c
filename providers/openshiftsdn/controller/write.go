package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/leader"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

const (
	// writers is the number of concurrent writes.
	writers = 16
	// maxNamed is the maximum number of errors in one message.
	maxNamed = 3
)

// operation is one write.
type operation func(context.Context) error

// writer writes objects.
type writer struct {
	client client.Client
	// wrote is called after each write that succeeded.
	wrote func()
}

// all performs writes concurrently, and returns when all have finished. It also waits for running writes after the context has ended: a canceled request may
// still take effect later, when another instance decides. It starts no write after the end of the context.
func (w writer) all(ctx context.Context, operations []operation) error {
	queue := make(chan operation)
	var mu sync.Mutex
	var failed []error
	var all sync.WaitGroup
	for range min(writers, len(operations)) {
		all.Go(func() {
			for do := range queue {
				limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leader.WriteLimit)
				err := do(limited)
				cancel()
				if err == nil {
					w.wrote()
					continue
				}
				mu.Lock()
				failed = append(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, o := range operations {
		if ctx.Err() != nil {
			break
		}
		queue <- o
	}
	close(queue)
	all.Wait()
	if rest := len(failed) - maxNamed; rest > 0 {
		failed = append(failed[:maxNamed], errors.New(phrase.More(rest)))
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// superseded ignores the errors of writes that came too late: the watch delivers the newer object, and the next decision uses it.
func superseded(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// changes returns the writes of a plan.
func changes[T client.Object](w writer, v *view[T], create, update, remove []T) []operation {
	var out []operation
	write := func(verb string, o T, do func(context.Context, T) error) {
		out = append(out, func(ctx context.Context) error {
			object, ok := o.DeepCopyObject().(T)
			if !ok {
				return fmt.Errorf("a copy of a %T is none", o)
			}
			err := do(ctx, object)
			if err == nil {
				v.wrote(object)
				return nil
			}
			if err = superseded(err); err != nil {
				return fmt.Errorf("%s %T %s: %w", verb, o, o.GetName(), err)
			}
			return nil
		})
	}
	for _, o := range create {
		write("create", o, func(ctx context.Context, o T) error { return w.client.Create(ctx, o) })
	}
	for _, o := range update {
		write("update", o, func(ctx context.Context, o T) error { return w.client.Update(ctx, o) })
	}
	for _, o := range remove {
		out = append(out, func(ctx context.Context) error {
			uid := o.GetUID()
			err := w.client.Delete(ctx, o, client.Preconditions{UID: &uid})
			if err == nil {
				v.removed(o)
			}
			if err = superseded(err); err != nil {
				return fmt.Errorf("delete %T %s: %w", o, o.GetName(), err)
			}
			return nil
		})
	}
	return out
}
