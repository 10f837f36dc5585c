package operator

import (
	"context"
	"fmt"
	"time"
)

// Run runs the operator until the context ends, or until a setting that is only read at start has changed: the TLS profile,
// or the API server of the operands. It returns an error if it stops for another reason, for example the loss of the lease.
func Run(ctx context.Context, o Options) error {
	if err := o.Registry.Check(); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	s, err := share(ctx, o)
	if err != nil {
		return err
	}
	s.end = end
	if err := s.manager.Add(&starter{shared: s}); err != nil {
		return fmt.Errorf("add starter of controllers: %w", err)
	}
	if err := s.manager.Add(s.operands); err != nil {
		return fmt.Errorf("add cache of operands: %w", err)
	}
	return endWithin(ctx, s.manager.Start, stopLimit)
}

// endWithin runs a function until it returns, but after the end of the context for at most limit.
func endWithin(ctx context.Context, run func(context.Context) error, limit time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var late <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("run: %w", err)
			}
			return nil
		case <-done:
			done, late = nil, time.After(limit)
		case <-late:
			return fmt.Errorf("the operator did not stop within %s", limit)
		}
	}
}
