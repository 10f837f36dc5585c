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
	// MatchFragments has flows see the ports of the first fragment of a packet, which Open vSwitch hides otherwise.
	MatchFragments bool
	// Applied is called after each attempt with the set and, if it failed, the reason. It may be nil.
	Applied func(openflow.Set, error)

	mu      sync.Mutex
	desired *openflow.Set
	changed chan struct{}
	// waiting are closed once the desired set is applied, certain is the text of the set that the bridge has; empty if that is not known.
	waiting []chan struct{}
	certain string
	// metered is true if the bridge may have meters.
	metered bool
	// doubts counts how often the bridge may have lost its flows.
	doubts int
}

// The pauses after a failure: doubled from the first to the longest one.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// Set changes the desired set. It does not wait until the bridge has it: the channel is closed once it has this set, or one that was given
// later.
func (k *Keeper) Set(s openflow.Set) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	done := make(chan struct{})
	k.desired = &s
	if k.certain != "" && k.certain == s.String() {
		close(done)
		return done
	}
	k.waiting = append(k.waiting, done)
	k.signal()
	return done
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

// again has the set applied as if nothing was known about the bridge.
func (k *Keeper) again() {
	k.doubt()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signal()
}

// doubt notes that the flows of the bridge are not known.
func (k *Keeper) doubt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.certain = ""
	k.doubts++
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
			k.doubt()
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
	desired, waiting := k.desired, k.waiting
	if desired == nil {
		k.mu.Unlock()
		return nil
	}
	certain, doubts := k.certain, k.doubts
	k.certain, k.waiting = "", nil
	k.mu.Unlock()
	var err error
	if k.MatchFragments && certain == "" {
		err = k.Bridge.MatchFragments(ctx)
	}
	rates := desired.Rates()
	// Flows name meters, which must exist before and may go afterwards.
	if err == nil && len(rates) > 0 {
		k.metered = true
		err = k.Bridge.addMeters(ctx, rates)
	}
	if err == nil {
		err = k.Bridge.Replace(ctx, *desired)
	}
	if err == nil && (k.metered || certain == "") {
		err = k.Bridge.removeMeters(ctx, rates)
		k.metered = len(rates) > 0
	}
	k.finish(*desired, waiting, doubts, err)
	if k.Applied != nil && ctx.Err() == nil {
		k.Applied(*desired, err)
	}
	return err
}

// finish notes what the bridge has.
func (k *Keeper) finish(applied openflow.Set, waiting []chan struct{}, doubts int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.waiting = append(waiting, k.waiting...)
		return
	}
	for _, w := range waiting {
		close(w)
	}
	if doubts == k.doubts {
		k.certain = applied.String()
	}
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
