package flows

import (
	"context"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/openflow"
)

// Keeper keeps the flows of a bridge equal to the last set that Set received. Bridge must be set. It is safe for concurrent use.
type Keeper struct {
	Bridge Bridge
	// Resync is the interval at which the set is applied again, in case a third party has changed the flows. Default: 1 minute.
	Resync time.Duration
	// MatchFragments calls Bridge.MatchFragments for each ovs-vswitchd.
	MatchFragments bool
	// Applying is called before each attempt to apply a set. It may be nil.
	Applying func(openflow.Set)
	// Restored is called after flows that a third party had changed were restored. It may be nil.
	Restored func()
	// Applied is called after each attempt with the set and, if it failed, the reason: a RefusedError if a set without the flows of one owner could be applied.
	// It may be nil.
	Applied func(openflow.Set, error)

	mu      sync.Mutex
	desired *openflow.Set
	changed chan struct{}
	// waiting are closed when the desired set is applied. applied is the text of the set that the bridge has; empty if unknown.
	waiting []chan struct{}
	applied string
	// lastSet is the text of the set that was last applied to the running ovs-vswitchd, even if its flows may have changed since; empty for none.
	lastSet string
	// metered is true if the bridge may have meters.
	metered bool
	// invalidations counts how often applied became unknown.
	invalidations int
}

// The first and the maximum pause after a failure. The pause doubles with each failure to apply a set.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// connectPause is the pause between attempts to connect to the bridge. Each costs little, and pods have no network until one succeeds: there is no back-off.
const connectPause = 10 * time.Millisecond

// Set changes the desired set. It does not wait until the set is applied: the channel is closed when the bridge has this set or a later one.
func (k *Keeper) Set(s openflow.Set) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	done := make(chan struct{})
	k.desired = &s
	if k.applied != "" && k.applied == s.String() {
		close(done)
		return done
	}
	k.waiting = append(k.waiting, done)
	k.signal()
	return done
}

// signal makes Run apply the set. The caller holds k.mu.
func (k *Keeper) signal() {
	if k.changed == nil {
		k.changed = make(chan struct{}, 1)
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// invalidate makes Run apply the set to a new ovs-vswitchd.
func (k *Keeper) invalidate() {
	k.lost()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signal()
}

// lost records that the connection to the ovs-vswitchd that received the set has ended.
func (k *Keeper) lost() {
	k.forgetApplied()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastSet = ""
}

// forgetApplied records that the flows of the bridge are unknown.
func (k *Keeper) forgetApplied() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.applied = ""
	k.invalidations++
}

// Run applies sets until the context ends: each new set, the last set again after each connection to the bridge, since a new ovs-vswitchd has no flows,
// and again with back-off after a failure. Before the first call of Set, it does not change the flows of the bridge, which are those of an earlier
// process. Between two sets it writes what differs. Whenever the flows of the bridge are uncertain, it reads them.
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
	// Changes do not delay it: they write what differs between two sets, and do not restore what a third party has changed.
	resyncs := time.NewTicker(resync)
	defer resyncs.Stop()
	pause := minPause
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-retry:
		case <-resyncs.C:
			k.forgetApplied()
		}
		if err := k.apply(ctx); err != nil {
			retry, pause = time.After(pause), min(2*pause, maxPause)
		} else {
			retry, pause = nil, minPause
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
	applied, invalidations, lastSet := k.applied, k.invalidations, k.lastSet
	k.applied, k.waiting = "", nil
	k.mu.Unlock()
	if k.Applying != nil {
		k.Applying(*desired)
	}
	var err error
	if k.MatchFragments && applied == "" {
		err = k.Bridge.MatchFragments(ctx)
	}
	rates := desired.Rates()
	// Flows refer to meters: new meters must exist before, and obsolete ones are removed afterwards.
	if err == nil && len(rates) > 0 {
		k.metered = true
		err = k.Bridge.addMeters(ctx, *desired)
	}
	restored := false
	if err == nil {
		restored, err = k.write(ctx, *desired, applied, lastSet)
	}
	if err == nil && (k.metered || applied == "") {
		err = k.Bridge.removeMeters(ctx, rates)
		k.metered = len(rates) > 0
	}
	k.finish(*desired, waiting, invalidations, err)
	if restored && ctx.Err() == nil {
		k.Restored()
	}
	if k.Applied != nil && ctx.Err() == nil {
		k.Applied(*desired, err)
	}
	return err
}

// write applies a set to the bridge, which has the flows of the text applied unless that is empty. It reports whether a third party had changed the flows since
// the same set was applied.
func (k *Keeper) write(ctx context.Context, set openflow.Set, applied, lastSet string) (restored bool, err error) {
	if applied != "" && k.Bridge.Change(ctx, openflow.Verbatim(applied), set) == nil {
		return false, nil
	}
	// After an error, which names no owner, the flows are uncertain.
	return k.replace(ctx, set, lastSet)
}

// replace applies a set, and reports whether a third party had changed the flows since the same set was applied.
func (k *Keeper) replace(ctx context.Context, set openflow.Set, lastSet string) (restored bool, err error) {
	if k.Restored == nil || lastSet == "" || lastSet != set.String() {
		return false, k.Bridge.Replace(ctx, set)
	}
	differences, err := k.Bridge.Differences(ctx, set)
	if err != nil || len(differences) == 0 {
		return false, err
	}
	return true, k.Bridge.Replace(ctx, set)
}

// finish records the result of applying a set.
func (k *Keeper) finish(applied openflow.Set, waiting []chan struct{}, invalidations int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.waiting = append(waiting, k.waiting...)
		return
	}
	for _, w := range waiting {
		close(w)
	}
	if k.lastSet = ""; invalidations == k.invalidations {
		k.applied = applied.String()
		k.lastSet = k.applied
	}
}

// watch maintains a session with the bridge. When the session ends, the flows are lost.
func (k *Keeper) watch(ctx context.Context) {
	for {
		_ = k.Bridge.Session(ctx, k.invalidate)
		k.lost()
		select {
		case <-ctx.Done():
			return
		case <-time.After(connectPause):
		}
	}
}
