package network

import (
	"context"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// reconciled is the result of a reconcile. Values of phases that did not run are zero.
type reconciled struct {
	gathered
	wanted
	chosen
	planned
	done
	// applyErr is the error of planning or applying.
	applyErr error
}

// run computes the five values. The error requests another reconcile; the findings describe the problems.
func (c *Controller) run(ctx context.Context, network *operatorv1.Network) (r reconciled, err error) {
	start := c.Now()
	if r.gathered, err = c.gather(ctx, network); err != nil || r.lost() {
		return r, err
	}
	start = c.Metrics.phase(phaseRecords, start, c.Now())
	r.wanted = c.want(ctx, &r.gathered)
	r.chosen, err = c.choose(ctx, &r.gathered, &r.wanted)
	start = c.Metrics.phase(phaseRender, start, c.Now())
	if err != nil || !r.rendered || !r.managed {
		return r, err
	}
	if r.planned, r.applyErr = c.plan(ctx, &r.gathered, &r.chosen); r.applyErr == nil {
		r.done, r.applyErr = c.do(ctx, &r.gathered, &r.chosen, &r.planned)
	}
	c.Metrics.phase(phaseRollOut, start, c.Now())
	if r.applyErr != nil {
		return r, r.applyErr
	}
	return r, r.retryable()
}
