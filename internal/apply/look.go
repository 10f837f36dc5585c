package apply

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// look asks the API server for the objects that are to be created, and returns the plan with what is to be done with
// those that are there. What the plan was made from may be late, or know only objects with the operator's label:
// without a look, an object of someone else would be taken for the operator's own, and deleted one day.
func (r *run) look(ctx context.Context, p plan.Plan) plan.Plan {
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
