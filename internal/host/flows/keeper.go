package flows

import (
	"context"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// Keeper keeps a bridge at the set that it was given last. Bridge must be set. Its methods may be called at the same time.
type Keeper struct {
	Bridge Bridge
	// Resync is how often the set is applied although nothing is known to have changed, in case someone has changed the flows. Default:
	// 1 minute.
	Resync time.Duration
	// Applied is called after each attempt with the set and, if it failed, the reason. It may be nil.
	Applied func(openflow.Set, error)

	mu      sync.Mutex
	desired *openflow.Set
	changed chan struct{}
}

// The pauses after a failure: doubled from the first to the longest one.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// Set changes the desired set. It does not wait until the bridge has it.
func (k *Keeper) Set(s openflow.Set) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.desired = &s
	k.signal()
}

// signal lets Run apply the set. k.mu is held.
func (k *Keeper) signal() {
	if k.changed == nil {
		k.changed = make(chan struct{}, 1)
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

func (k *Keeper) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signal()
}

// Run applies sets until the context ends: each that is given, the last one again after every connection to the bridge, since a new
// ovs-vswitchd has no flows, and again with back-off after a failure. Until the first set is given, it leaves the flows of the bridge
// alone, which are those of an earlier process.
func (k *Keeper) Run(ctx context.Context) {
	k.mu.Lock()
	if k.changed == nil {
		k.changed = make(chan struct{}, 1)
	}
	changed := k.changed
	k.mu.Unlock()
	var session sync.WaitGroup
	session.Go(func() { k.watch(ctx) })
	defer session.Wait()
	resync := k.Resync
	if resync == 0 {
		resync = time.Minute
	}
	next, pause := resync, firstPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(next):
		}
		if err := k.apply(ctx); err != nil {
			next, pause = pause, min(2*pause, longestPause)
		} else {
			next, pause = resync, firstPause
		}
	}
}

func (k *Keeper) apply(ctx context.Context) error {
	k.mu.Lock()
	desired := k.desired
	k.mu.Unlock()
	if desired == nil {
		return nil
	}
	err := k.Bridge.Replace(ctx, *desired)
	if k.Applied != nil && ctx.Err() == nil {
		k.Applied(*desired, err)
	}
	return err
}

// watch keeps a session with the bridge, whose end means that the flows are lost.
func (k *Keeper) watch(ctx context.Context) {
	pause := firstPause
	for {
		_ = k.Bridge.Session(ctx, func() { pause = firstPause; k.again() })
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}
