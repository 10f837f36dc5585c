package preprovisioningimage

import (
	"context"
	"sync"
)

// term is the time during which this replica has the lease. The zero value is before the first one.
type term struct {
	mu  sync.Mutex
	ctx context.Context
}

// hold sets the term until the context ends, and waits for functions that run during it. It calls began first.
func (t *term) hold(ctx context.Context, began func()) {
	t.set(ctx)
	began()
	<-ctx.Done()
	t.set(ctx) // it has ended; the lock waits for functions
}

func (t *term) set(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx = ctx
}

// isLeader reports whether this replica has the lease.
func (t *term) isLeader() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ctx != nil && t.ctx.Err() == nil
}

// during calls f with a context that ends with the term, if this replica has the lease; otherwise it does nothing.
func (t *term) during(ctx context.Context, f func(context.Context) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	return f(ctx)
}
