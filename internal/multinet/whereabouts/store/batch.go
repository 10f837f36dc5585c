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

// batch is a set of operations on a pool that share a write.
type batch struct {
	store      *Store
	pool       whereabouts.Pool
	operations []*operation

	// held are the addresses that operations have reserved but not yet written to the pool.
	held map[*operation]netip.Addr
	// reservedElsewhere are addresses that other owners have reserved; reserved are the names of all reservations, nil until they are listed.
	reservedElsewhere map[netip.Addr]bool
	reserved          map[string]bool
	// written are operations whose new address may be in the pool although the write failed.
	written map[*operation]bool
}

// Delays between two attempts: short after a conflict with another writer, longer while the API server is unreachable.
const (
	conflictDelay = 5 * time.Millisecond
	outageDelay   = 100 * time.Millisecond
	maxDelay      = time.Second
)

// run carries out the operations. It retries after conflicts with other writers and outages.
func (b *batch) run() {
	b.reservedElsewhere, b.written = map[netip.Addr]bool{}, map[*operation]bool{}
	if b.held == nil {
		b.held = map[*operation]netip.Addr{}
	}
	for attempt := 0; len(b.operations) > 0; attempt++ {
		err := b.attempt()
		switch {
		case err == nil:
		case conflicting(err):
			b.expire(&Unavailable{Err: err})
			b.pause(conflictDelay, attempt)
		case transient(err):
			if attempt == 0 {
				b.store.log.Warn("the API server does not answer; addresses are waited for", "pool", b.pool.Name(), "requests", len(b.operations), "error", err)
			}
			b.expire(&Unavailable{Err: err})
			b.pause(outageDelay, attempt)
		case len(b.operations) > 1:
			b.runSeparately()
		default:
			b.fail(err, b.operations)
		}
	}
}

// pause sleeps with exponential back-off and jitter, at most until the first operation times out.
func (b *batch) pause(delay time.Duration, attempt int) {
	delay = min(delay<<min(attempt, 10), maxDelay)
	delay = delay/2 + rand.N(delay/2+1) //nolint:gosec // only for jitter
	for _, o := range b.operations {
		delay = min(delay, time.Until(o.until)+time.Millisecond)
	}
	time.Sleep(delay)
}

// runSeparately carries out each operation in its own batch, so that one that the API server refuses does not fail the others.
func (b *batch) runSeparately() {
	for _, o := range b.operations {
		single := batch{store: b.store, pool: b.pool, operations: []*operation{o}}
		if a, ok := b.held[o]; ok {
			single.held = map[*operation]netip.Addr{o: a}
		}
		single.run()
	}
	b.operations = nil
}

// expire finishes the operations that have timed out.
func (b *batch) expire(err error) {
	now := time.Now()
	var expired []*operation
	for _, o := range b.operations {
		if now.After(o.until) {
			expired = append(expired, o)
		}
	}
	b.fail(err, expired)
}

// fail finishes operations with an error, and deletes their reservations. Those that cannot be deleted are left to the operator's
// controller.
func (b *batch) fail(err error, operations []*operation) {
	ctx, cancel := context.WithTimeout(context.Background(), unreserveTimeout)
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

// unreserveTimeout is how long the deletion of reservations may take while the API server does not answer.
const unreserveTimeout = 2 * time.Second

// finish finishes an operation with an outcome.
func (b *batch) finish(o *operation, outcome whereabouts.Outcome, err error) {
	b.operations = slices.DeleteFunc(b.operations, func(other *operation) bool { return other == o })
	delete(b.held, o)
	outcome.New = outcome.New || b.written[o] && outcome.Address.IsValid()
	b.store.finish(b.pool, o, outcome, err)
}

// attempt reads the pool, decides, reserves and writes once. If it succeeds, all operations are finished.
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
	assigns, outcomes, err := b.assignments(ctx, left)
	if err != nil {
		return err
	}
	for i, o := range assigns {
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
	if p.version == "" && len(assigns) == 0 {
		clear(changes)
	}
	if len(changes) > 0 {
		if err := WritePool(ctx, b.store.client, b.store.namespace, b.pool, p.version, changes); err != nil {
			return err
		}
	}
	for i, o := range assigns {
		b.finish(o, outcomes[i], nil)
	}
	for _, o := range slices.Clone(b.operations) {
		b.finish(o, whereabouts.Outcome{}, nil)
	}
	return nil
}

// until returns the latest deadline of the operations.
func (b *batch) until() time.Time {
	var last time.Time
	for _, o := range b.operations {
		if o.until.After(last) {
			last = o.until
		}
	}
	return last
}

// releases adds the released allocations to the changes. It deletes the reservations first: if that fails, the next attempt finds the allocation again.
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

// assignments decides the address of each operation, and reserves the addresses. It decides again if addresses are reserved for other owners.
func (b *batch) assignments(ctx context.Context, allocations map[string]whereabouts.Allocation) ([]*operation, []whereabouts.Outcome, error) {
	var assigns []*operation
	var requests []whereabouts.Request
	for _, o := range b.operations {
		if o.release == nil {
			assigns, requests = append(assigns, o), append(requests, o.request)
		}
	}
	for {
		held := map[int]netip.Addr{}
		for i, o := range assigns {
			if a, ok := b.held[o]; ok {
				held[i] = a
			}
		}
		outcomes := whereabouts.Decide(allocations, requests, held, b.avoid)
		lost, err := b.reserve(ctx, allocations, assigns, outcomes)
		if err != nil || lost == 0 {
			return assigns, outcomes, err
		}
		if lost >= listReservationsAfter && b.reserved == nil {
			if b.reserved, err = b.store.reserved(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
}

// listReservationsAfter is how many addresses of a batch are reserved elsewhere before all reservations are listed.
const listReservationsAfter = 8

// avoid reports whether an address is known to be reserved for another owner. The list of reservations has no owners: an address whose reservation
// belongs to an owner of the batch is also avoided, and the operator's controller removes the reservation.
func (b *batch) avoid(a netip.Addr) bool {
	return b.reservedElsewhere[a] || b.reserved != nil && b.reserved[whereabouts.ReservationName(b.pool.NetworkName, a)]
}

// reserve creates the reservations of outcomes, and returns the number of addresses that other owners have reserved.
func (b *batch) reserve(ctx context.Context, allocations map[string]whereabouts.Allocation, assigns []*operation, outcomes []whereabouts.Outcome) (lost int, err error) {
	var mu sync.Mutex
	err = each(len(assigns), func(i int) error {
		o, a := assigns[i], outcomes[i].Address
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
			b.reservedElsewhere[a] = true
			lost++
		case !ok:
			// The pool has the address for the owner, and another pool reserved it: an early version assigned it twice.
			b.store.log.Warn("an address is reserved for another owner, too", "pool", b.pool.Name(), "address", a, "pod", o.request.Owner.PodRef)
		}
		return nil
	})
	return lost, err
}

// each calls a function for the numbers below n, with limited concurrency, and returns the first error after all calls have ended.
func each(n int, f func(int) error) error {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		first error
		slots = make(chan struct{}, maxConcurrentReservations)
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
