package operator

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// endless is a cache that runs until its context ends.
type endless struct{ cache.Cache }

func (endless) Start(ctx context.Context) error { <-ctx.Done(); return nil }

// TestOperandsEndWhileNamespacesAreAdded: a namespace that is asked for while the operator ends neither starts a cache that no one waits for,
// and does not cause a panic.
func TestOperandsEndWhileNamespacesAreAdded(t *testing.T) {
	for range 60 {
		o := &operands{make: func(string) (cache.Cache, error) { return endless{}, nil }, caches: map[string]cache.Cache{}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			defer close(ended)
			if err := o.Start(ctx); err != nil {
				t.Errorf("ends with %v", err)
			}
		})
		for i := range 4 {
			running.Go(func() {
				for j := 0; ; j++ {
					select {
					case <-ended:
						return
					default:
					}
					if i == 0 && j == 5 {
						cancel()
					}
					if _, err := o.of(fmt.Sprint(i, "-", j)); err != nil {
						t.Errorf("a cache is not created: %v", err)
					}
				}
			})
		}
		running.Wait()
		cancel()
	}
}
