package dhcp

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// extendLimit and regainLimit bound one request: several are made before a lease ends.
const (
	extendLimit = 5 * time.Second
	regainLimit = 5 * time.Second
)

// keeper keeps one lease until it is stopped or the interface is gone.
type keeper struct {
	*Handler
	config Config
	log    *slog.Logger
	// record is what the lease is now. Only run changes it.
	record atomic.Pointer[Record]
	// reported is what the user has been told last about options or another address.
	reported string
	// failed is how often the lost address was asked for in vain.
	failed int
	cancel context.CancelFunc
	done   chan struct{}
}

// run keeps the lease until the context ends. It returns early if the interface no longer exists.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	if r := k.record.Load(); r.Lost != nil {
		k.withdraw(*r) // the process may have ended before it had
	}
	at := k.first(time.Now())
	for {
		timer := time.NewTimer(time.Until(at))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		next, goes := k.step(ctx)
		if !goes || ctx.Err() != nil {
			return
		}
		at = next
	}
}

// first is when the lease is due for the first time.
func (k *keeper) first(now time.Time) time.Time {
	r := k.record.Load()
	if t := r.Lease.times(k.config.ClientID); r.Lost == nil && t.At(now) == Bound {
		return t.Renew
	}
	return now
}

// step does what is due, and returns when to do the next one. goes is false if there is no more to do.
func (k *keeper) step(ctx context.Context) (next time.Time, goes bool) {
	r := *k.record.Load()
	if r.Lost != nil {
		return k.regain(ctx, r)
	}
	t, now := r.Lease.times(k.config.ClientID), time.Now()
	state := t.At(now)
	if state == Bound {
		return t.Renew, true
	}
	ack, err := k.ask(ctx, state, r, t.End(now).Sub(now))
	if ctx.Err() != nil {
		return now, false
	}
	return k.answered(r, state, ack, err)
}

// ask asks for an extension of a lease as its state demands, for some time: not beyond the end of the state.
func (k *keeper) ask(ctx context.Context, state State, r Record, within time.Duration) (*dhcpv4.DHCPv4, error) {
	ctx, cancel := context.WithTimeout(ctx, min(within, extendLimit))
	defer cancel()
	switch state {
	case Renewing:
		return k.Client.Renew(ctx, r.port(), k.config, r.Lease)
	case Rebinding:
		return k.Client.Rebind(ctx, r.port(), k.config, r.Lease)
	case Bound, Expired:
	}
	return nil, errNotRenewed
}

var errNotRenewed = errors.New("no DHCP server has extended it in time")

// answered does what follows from the answer to a request of a state.
func (k *keeper) answered(r Record, asked State, ack *dhcpv4.DHCPv4, err error) (next time.Time, goes bool) {
	t, now := r.Lease.times(k.config.ClientID), time.Now()
	var read Lease
	if err == nil {
		read, err = readLease(ack, now)
	}
	d := decide(r.Lease, read, err, now, t)
	switch d.outcome {
	case vanished:
		k.forget(r, d.cause)
		return now, false
	case lost:
		k.lose(r, d.cause, now)
		return now, true
	case extended:
		r.Lease = d.lease
		k.keep(r)
		k.log.Debug("lease extended", "state", asked.String(), "until", r.Lease.Since.Add(r.Lease.Valid))
		k.report(d.changed, func() Event { return r.changedEvent(d.changed) })
		return r.Lease.times(k.config.ClientID).Renew, true
	case unanswered:
	}
	next = t.Next(asked, now)
	k.log.Warn("lease not extended", "state", asked.String(), "error", d.cause, "again", next, "until", t.Expire)
	return next, true
}

// keep saves a record. One that cannot be saved counts in this process; after a restart the lease seems to end earlier than it does.
func (k *keeper) keep(r Record) {
	k.record.Store(&r)
	if err := k.store.put(r); err != nil {
		k.log.Error("lease not saved; after a restart of the agent it is asked for again if it seems to have expired", "error", err)
	}
}

// forget ends the record of an interface that no longer exists: nothing can be sent from it.
func (k *keeper) forget(r Record, cause error) {
	k.log.Warn("lease not released: its interface no longer exists; the server keeps the address until the lease expires",
		"address", r.Lease.Prefix.Addr(), "expires", r.Lease.Since.Add(r.Lease.Valid), "error", cause)
	if err := k.store.remove(key(r.Call)); err != nil {
		k.log.Error("record of a lease not removed", "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keepers[key(r.Call)] == k {
		delete(k.keepers, key(r.Call))
	}
}

// lose has the pod stop using the address: another client may have it.
func (k *keeper) lose(r Record, cause error, now time.Time) {
	routes, err := k.Links.Routes(r.port())
	if err != nil {
		k.log.Error("routes of a lost address not read; they are not restored with it", "error", err)
	}
	r.Lost = &Loss{Since: now, Routes: routes}
	k.keep(r)
	k.withdraw(r)
	k.failed, k.reported = 0, ""
	e := r.lostEvent(cause)
	k.log.Error("lease lost", "address", r.Lease.Prefix.Addr(), "error", cause)
	k.Event(e)
}

func (k *keeper) withdraw(r Record) {
	if err := k.Links.Withdraw(r.port(), r.Lease.Prefix); err != nil && !errors.Is(err, ErrGone) {
		k.log.Error("lost address not removed from the interface", "address", r.Lease.Prefix, "error", err)
	}
}

// regain asks for the lost address. The pod gets no other one: its status, policies and the results of its plugins have this one.
func (k *keeper) regain(ctx context.Context, r Record) (next time.Time, goes bool) {
	limited, cancel := context.WithTimeout(ctx, regainLimit)
	defer cancel()
	ack, err := k.Client.Acquire(limited, r.port(), k.config, r.Lease.Prefix.Addr())
	if ctx.Err() != nil {
		return time.Time{}, false
	}
	var read Lease
	if err == nil {
		read, err = readLease(ack, time.Now())
	}
	if err == nil && read.Prefix.Addr() != r.Lease.Prefix.Addr() {
		err = &OtherError{Server: read.Server, Offered: read.Prefix.Addr()}
	}
	if errors.Is(err, ErrGone) {
		k.forget(r, err)
		return time.Time{}, false
	}
	if err == nil {
		// The interface first: a process that ends between the two does both again.
		if err = k.Links.Restore(r.port(), r.Lease.Prefix, r.Lost.Routes); err == nil {
			return k.regained(r, read), true
		}
	}
	if other, ok := errors.AsType[*OtherError](err); ok {
		k.report(other.Error(), func() Event { return r.otherEvent(other) })
	}
	k.failed++
	wait := regainAfter(k.failed)
	k.log.Warn("lost address not available", "address", r.Lease.Prefix.Addr(), "error", err, "again", time.Now().Add(wait))
	return time.Now().Add(wait), true
}

func (k *keeper) regained(r Record, read Lease) time.Time {
	r.Lost, r.Lease = nil, extend(r.Lease, read)
	k.failed, k.reported = 0, ""
	k.keep(r)
	k.log.Info("lost address is available again", "address", r.Lease.Prefix.Addr())
	k.Event(r.restoredEvent())
	return r.Lease.times(k.config.ClientID).Renew
}

// report sends an event unless the last one was about the same.
func (k *keeper) report(about string, event func() Event) {
	if about != "" && about != k.reported {
		k.Event(event())
	}
	k.reported = about
}

// usable returns the address of the lease, false while the pod must not use it.
func (k *keeper) usable() (netip.Prefix, bool) {
	r := k.record.Load()
	return r.Lease.Prefix, r.Lost == nil
}
