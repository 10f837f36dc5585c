package checkendpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// queue queues the status of a check to be written.
func (c *Checker) queue(t *task) {
	c.mu.Lock()
	if c.tasks[t.name] == t {
		c.dirty[t.name] = t
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes queued statuses sequentially until the context ends, each with its current value, and limited to the rate
// of the pace.
func (c *Checker) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		for {
			t := c.next()
			if t == nil || c.limit.Wait(ctx) != nil {
				break
			}
			err := c.publish(ctx, t)
			if err == nil || ctx.Err() != nil || isAbsent(err) {
				continue
			}
			c.Log.Warn("cannot write status of check", "check", t.name, "error", err)
			c.queue(t)
			pause(ctx, c.Pace.Again)
		}
	}
}

// next removes and returns the first check of the queue.
func (c *Checker) next() *task {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.dirty) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(c.dirty)))
	t := c.dirty[name]
	delete(c.dirty, name)
	return t
}

// publish replaces the status of a check, which no other client writes.
func (c *Checker) publish(ctx context.Context, t *task) error {
	t.mu.Lock()
	status, asOf := t.status, c.Now()
	t.mu.Unlock()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	object := &check{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: t.name}}
	if err := c.Client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	t.mu.Lock()
	t.written = asOf
	t.mu.Unlock()
	return nil
}

// writeTimeout is the timeout of a write.
const writeTimeout = 30 * time.Second
