package live

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/cluster-network-operator/cno/internal/ui/page"
)

const (
	// podsKept is how long the list of all pods is kept: a user who searches for one asks after each pause in typing.
	podsKept = 10 * time.Second
	// podsTimeout is the timeout of the list.
	podsTimeout = 30 * time.Second
)

// podList lists all pods of the cluster, at most once per podsKept.
type podList struct {
	list func(context.Context) ([]page.Pod, error)

	flight singleflight.Group
	mu     sync.Mutex
	pods   []page.Pod
	listed time.Time
}

// get returns all pods. Concurrent calls share one list, which goes on if the browser of one of them has closed its request. The result is
// shared and must not be changed.
func (l *podList) get(ctx context.Context) ([]page.Pod, error) {
	if pods, ok := l.kept(); ok {
		return pods, nil
	}
	result := l.flight.DoChan("", func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), podsTimeout)
		defer cancel()
		pods, err := l.list(limited)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pods, l.listed = pods, time.Now()
		return pods, nil
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-result:
		pods, _ := r.Val.([]page.Pod)
		return pods, r.Err
	}
}

func (l *podList) kept() ([]page.Pod, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods, !l.listed.IsZero() && time.Since(l.listed) < podsKept
}
