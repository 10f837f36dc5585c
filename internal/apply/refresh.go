package apply

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// refresh reads the objects that are to be created, and returns the plan with the actions for those that exist. The plan
// may be based on an outdated cache, or on one that has only objects with the operator's label: without the read, an object
// of another client would count as the operator's own, and could be deleted later.
func (r *run) refresh(ctx context.Context, p plan.Plan) plan.Plan {
	p.Actions = slices.Clone(p.Actions)
	r.unknown = map[manifest.Key]error{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(r.Concurrency)
	for i, a := range p.Actions {
		if a.Verb != plan.Create {
			continue
		}
		group.Go(func() error {
			live, err := r.get(ctx, refOf(a))
			switch {
			case err == nil:
				p.Actions[i] = a.Seen(live, p.Inventory)
			case !isGone(err):
				mu.Lock()
				defer mu.Unlock()
				r.unknown[a.Key] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in unknown
	return p
}
