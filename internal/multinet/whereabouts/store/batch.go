package store

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/cluster-network-operator/cno/internal/multinet/whereabouts"
)

// batch are operations on a pool that share a write.
type batch struct {
	store      *Store
	pool       whereabouts.Pool
	operations []*operation

	// held are the addresses that operations have reserved, and not written to the pool yet.
	held map[*operation]netip.Addr
	// elsewhere are addresses that other owners have reserved; reserved, if it is known, are the names of all reservations.
	elsewhere map[netip.Addr]bool
	reserved  map[string]bool
	// written are operations whose new address may be in the pool although the write has failed.
	written map[*operation]bool
}

// Times between two attempts: short after a collision with another writer, longer while the API server does not answer.
const (
	collisionDelay = 5 * time.Millisecond
	outageDelay    = 100 * time.Millisecond
	longestDelay   = time.Second
)

// run carries the operations out, and repeats what another writer or an outage has prevented.
func (b *batch) run() {
	b.elsewhere, b.written = map[netip.Addr]bool{}, map[*operation]bool{}
	if b.held == nil {
		b.held = map[*operation]netip.Addr{}
	}
	for attempt := 0; len(b.operations) > 0; attempt++ {
		err := b.attempt()
		switch {
		case err == nil:
		case collided(err):
			b.expire(&Unavailable{Err: err})
			b.pause(collisionDelay, attempt)
		case passing(err):
			if attempt == 0 {
				b.store.log.Warn("the API server does not answer; addresses are waited for", "pool", b.pool.Name(), "requests", len(b.operations), "error", err)
			}
			b.expire(&Unavailable{Err: err})
			b.pause(outageDelay, attempt)
		case len(b.operations) > 1:
			b.alone()
		default:
			b.give(err, b.operations)
		}
	}
}

// pause waits for twice as long with each attempt, and not exactly, so that writers do not meet again; at most until the first operation
// gives up, whose caller waits for the reason.
func (b *batch) pause(delay time.Duration, attempt int) {
	delay = min(delay<<min(attempt, 10), longestDelay)
	delay = delay/2 + rand.N(delay/2+1) //nolint:gosec // it keeps writers apart
	for _, o := range b.operations {
		delay = min(delay, time.Until(o.until)+time.Millisecond)
	}
	time.Sleep(delay)
}

// alone carries out each operation for itself, so that one that the API server refuses does not fail the others.
func (b *batch) alone() {
	for _, o := range b.operations {
		single := batch{store: b.store, pool: b.pool, operations: []*operation{o}}
		if a, ok := b.held[o]; ok {
			single.held = map[*operation]netip.Addr{o: a}
		}
		single.run()
	}
	b.operations = nil
}

// expire finishes the operations that have waited long enough.
func (b *batch) expire(err error) {
	now := time.Now()
	var expired []*operation
	for _, o := range b.operations {
		if now.After(o.until) {
			expired = append(expired, o)
		}
	}
	b.give(err, expired)
}

// give finishes operations with an error, and deletes their reservations. Those that cannot be deleted are left to the operator's
// controller.
func (b *batch) give(err error, operations []*operation) {
	ctx, cancel := context.WithTimeout(context.Background(), giveLimit)
	defer cancel()
	operations = slices.Clone(operations)
	_ = each(len(operations), func(i int) error {
		o := operations[i]
		if a, ok := b.held[o]; ok {
			if err := b.store.unreserve(ctx, b.pool.NetworkName, a, o.request.Owner); err != nil {
				b.store.log.Warn("a reservation is not deleted; the operator's controller removes it", "address", a, "error", err)
			}
		}
		return nil
	})
	for _, o := range operations {
		b.finish(o, whereabouts.Outcome{}, err)
	}
}

// giveLimit is how long the deletion of reservations may take while the API server does not answer.
const giveLimit = 2 * time.Second

// finish hands an outcome over.
func (b *batch) finish(o *operation, outcome whereabouts.Outcome, err error) {
	b.operations = slices.DeleteFunc(b.operations, func(other *operation) bool { return other == o })
	delete(b.held, o)
	outcome.New = outcome.New || b.written[o] && outcome.Address.IsValid()
	b.store.finish(b.pool, o, outcome, err)
}

// attempt reads the pool, decides, reserves and writes once. Without an error, all operations are finished.
func (b *batch) attempt() error {
	ctx, cancel := context.WithDeadline(context.Background(), b.until())
	defer cancel()
	p, err := b.store.readPool(ctx, b.pool)
	if err != nil {
		return err
	}
	changes := Change{}
	if err := b.releases(ctx, p, changes); err != nil {
		return err
	}
	left := maps.Clone(p.allocations)
	for offset := range changes {
		delete(left, offset)
	}
	asks, outcomes, err := b.assignments(ctx, left)
	if err != nil {
		return err
	}
	for i, o := range asks {
		if !outcomes[i].Address.IsValid() {
			continue
		}
		offset, owner := o.request.Range.Offset(outcomes[i].Address), o.request.Owner
		if before, ok := p.allocations[offset]; !ok || before != owner {
			changes[offset] = &owner
			b.written[o] = b.written[o] || outcomes[i].New
		} else {
			delete(changes, offset)
		}
	}
	if p.version == "" && len(asks) == 0 {
		clear(changes)
	}
	if len(changes) > 0 {
		if err := WritePool(ctx, b.store.client, b.store.namespace, b.pool, p.version, changes); err != nil {
			return err
		}
	}
	for i, o := range asks {
		b.finish(o, outcomes[i], nil)
	}
	for _, o := range slices.Clone(b.operations) {
		b.finish(o, whereabouts.Outcome{}, nil)
	}
	return nil
}

// until is when the last operation gives up.
func (b *batch) until() time.Time {
	var last time.Time
	for _, o := range b.operations {
		if o.until.After(last) {
			last = o.until
		}
	}
	return last
}

// releases adds what is released to the changes. Reservations are deleted first: if that fails, the allocation is found again by the
// next attempt.
func (b *batch) releases(ctx context.Context, p pool, changes Change) error {
	type removal struct {
		address netip.Addr
		former  whereabouts.Allocation
	}
	var removals []removal
	network := whereabouts.Range{Network: b.pool.Network}
	for _, o := range b.operations {
		if o.release == nil {
			continue
		}
		for _, offset := range whereabouts.Held(p.allocations, o.release.ContainerID, o.release.IfName) {
			former := p.allocations[offset]
			address, ok := network.Address(offset)
			if former.Claim != "" && !o.release.Claims || o.release.Address.IsValid() && o.release.Address != address {
				continue
			}
			changes[offset] = nil
			if ok && o.overlapping {
				removals = append(removals, removal{address, former})
			}
		}
	}
	return each(len(removals), func(i int) error {
		return b.store.unreserve(ctx, b.pool.NetworkName, removals[i].address, removals[i].former)
	})
}

// assignments decides which operation gets which address, and reserves the addresses. It decides again without addresses that turn out to be
// reserved for others.
func (b *batch) assignments(ctx context.Context, allocations map[string]whereabouts.Allocation) ([]*operation, []whereabouts.Outcome, error) {
	var asks []*operation
	var requests []whereabouts.Request
	for _, o := range b.operations {
		if o.release == nil {
			asks, requests = append(asks, o), append(requests, o.request)
		}
	}
	for {
		held := map[int]netip.Addr{}
		for i, o := range asks {
			if a, ok := b.held[o]; ok {
				held[i] = a
			}
		}
		outcomes := whereabouts.Decide(allocations, requests, held, b.avoid)
		lost, err := b.reserve(ctx, allocations, asks, outcomes)
		if err != nil || lost == 0 {
			return asks, outcomes, err
		}
		if lost >= manyLost && b.reserved == nil {
			if b.reserved, err = b.store.reserved(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
}

// manyLost is how many addresses of a batch are reserved elsewhere before all reservations are listed.
const manyLost = 8

// avoid reports whether another owner has an address, as far as is known. Only the names of reservations are known, and not the owners:
// what an owner in the batch has left behind is not assigned to it then, and removed by the operator's controller.
func (b *batch) avoid(a netip.Addr) bool {
	return b.elsewhere[a] || b.reserved != nil && b.reserved[whereabouts.ReservationName(b.pool.NetworkName, a)]
}

// reserve creates the reservations of outcomes that need one, and returns how many addresses others have.
func (b *batch) reserve(ctx context.Context, allocations map[string]whereabouts.Allocation, asks []*operation, outcomes []whereabouts.Outcome) (lost int, err error) {
	var mu sync.Mutex
	err = each(len(asks), func(i int) error {
		o, a := asks[i], outcomes[i].Address
		mu.Lock()
		before, isHeld := b.held[o]
		unchanged := a.IsValid() && allocations[o.request.Range.Offset(a)] == o.request.Owner
		mu.Unlock()
		if isHeld && before != a {
			if err := b.store.unreserve(ctx, b.pool.NetworkName, before, o.request.Owner); err != nil {
				return err
			}
			mu.Lock()
			delete(b.held, o)
			mu.Unlock()
		}
		if !o.overlapping || !a.IsValid() || isHeld && before == a || unchanged {
			return nil
		}
		ok, err := b.store.reserve(ctx, b.pool.NetworkName, a, o.request.Owner)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			return err
		case ok && outcomes[i].New:
			b.held[o] = a
		case !ok && outcomes[i].New:
			b.elsewhere[a] = true
			lost++
		case !ok:
			// The pool has the address for the owner, and another pool reserved it since: an early version assigned it twice.
			b.store.log.Warn("an address is reserved for another owner, too", "pool", b.pool.Name(), "address", a, "pod", o.request.Owner.PodRef)
		}
		return nil
	})
	return lost, err
}

// each calls a function for the numbers up to n, some at once, and returns the first error after all have ended.
func each(n int, f func(int) error) error {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		first error
		slots = make(chan struct{}, reserveAtOnce)
	)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := f(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = err
				}
			}
		})
	}
	group.Wait()
	return first
}
