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

// extendRequestTimeout and regainLimit bound one request: several are made before a lease ends.
const (
	extendRequestTimeout = 5 * time.Second
	regainRequestTimeout = 5 * time.Second
)

// keeper renews one lease until it is stopped or the interface no longer exists.
type keeper struct {
	*Handler
	config Config
	log    *slog.Logger
	// record is the current state of the lease. Only run changes it.
	record atomic.Pointer[Record]
	// reported is the content of the last event about options or another address.
	reported string
	// failed is the number of failed attempts to regain the lost address.
	failed int
	cancel context.CancelFunc
	done   chan struct{}
}

// run renews the lease until the context ends. It returns early if the interface no longer exists.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	if r := k.record.Load(); r.Lost != nil {
		k.withdraw(*r) // an earlier process may have ended before it did
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
		next, more := k.step(ctx)
		if !more || ctx.Err() != nil {
			return
		}
		at = next
	}
}

// first returns the time of the first step.
func (k *keeper) first(now time.Time) time.Time {
	r := k.record.Load()
	if t := r.Lease.times(k.config.ClientID); r.Lost == nil && t.At(now) == Bound {
		return t.Renew
	}
	return now
}

// step carries out the step that is due, and returns the time of the next one. more is false if no step follows.
func (k *keeper) step(ctx context.Context) (next time.Time, more bool) {
	r := *k.record.Load()
	if r.Lost != nil {
		return k.regain(ctx, r)
	}
	t, now := r.Lease.times(k.config.ClientID), time.Now()
	state := t.At(now)
	if state == Bound {
		return t.Renew, true
	}
	ack, err := k.requestExtension(ctx, state, r, t.End(now).Sub(now))
	if ctx.Err() != nil {
		return now, false
	}
	return k.handleResponse(r, state, ack, err)
}

// requestExtension sends the request for a lease in a state. It waits for the duration within, at most extendRequestTimeout.
func (k *keeper) requestExtension(ctx context.Context, state State, r Record, within time.Duration) (*dhcpv4.DHCPv4, error) {
	ctx, cancel := context.WithTimeout(ctx, min(within, extendRequestTimeout))
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

// handleResponse applies the result of a request that was sent in the state asked.
func (k *keeper) handleResponse(r Record, asked State, ack *dhcpv4.DHCPv4, err error) (next time.Time, more bool) {
	t, now := r.Lease.times(k.config.ClientID), time.Now()
	var read Lease
	if err == nil {
		read, err = readLease(ack, now)
	}
	d := decide(r.Lease, read, err, now, t)
	switch d.outcome {
	case interfaceGone:
		k.forget(r, d.cause)
		return now, false
	case lost:
		k.markLost(r, d.cause, now)
		return now, true
	case extended:
		r.Lease = d.lease
		k.save(r)
		k.log.Debug("lease extended", "state", asked.String(), "until", r.Lease.Since.Add(r.Lease.Valid))
		k.report(d.changed, func() Event { return r.changedEvent(d.changed) })
		return r.Lease.times(k.config.ClientID).Renew, true
	case notExtended:
	}
	next = t.Next(asked, now)
	k.log.Warn("lease not extended", "state", asked.String(), "error", d.cause, "again", next, "until", t.Expire)
	return next, true
}

// save sets the record and writes it to disk. If the write fails, the lease seems to end earlier than it does after a restart.
func (k *keeper) save(r Record) {
	k.record.Store(&r)
	if err := k.store.put(r); err != nil {
		k.log.Error("lease not saved; after a restart of the agent it is asked for again if it seems to have expired", "error", err)
	}
}

// forget removes the record of an interface that no longer exists, whose lease cannot be released.
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

// markLost removes the address from the pod, since another client may have it.
func (k *keeper) markLost(r Record, cause error, now time.Time) {
	routes, err := k.Links.Routes(r.port())
	if err != nil {
		k.log.Error("routes of a lost address not read; they are not restored with it", "error", err)
	}
	r.Lost = &Loss{Since: now, Routes: routes}
	k.save(r)
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

// regain requests the lost address. It accepts no other address, because the pod's status, policies and plugin results contain this one.
func (k *keeper) regain(ctx context.Context, r Record) (next time.Time, more bool) {
	limited, cancel := context.WithTimeout(ctx, regainRequestTimeout)
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
		// The interface comes first: if the process ends before the record is saved, the next one repeats both.
		if err = k.Links.Restore(r.port(), r.Lease.Prefix, r.Lost.Routes); err == nil {
			return k.regained(r, read), true
		}
	}
	if other, ok := errors.AsType[*OtherError](err); ok {
		k.report(other.Error(), func() Event { return r.otherAddressEvent(other) })
	}
	k.failed++
	wait := regainDelay(k.failed)
	k.log.Warn("lost address not available", "address", r.Lease.Prefix.Addr(), "error", err, "again", time.Now().Add(wait))
	return time.Now().Add(wait), true
}

func (k *keeper) regained(r Record, read Lease) time.Time {
	r.Lost, r.Lease = nil, extend(r.Lease, read)
	k.failed, k.reported = 0, ""
	k.save(r)
	k.log.Info("lost address is available again", "address", r.Lease.Prefix.Addr())
	k.Event(r.restoredEvent())
	return r.Lease.times(k.config.ClientID).Renew
}

// report sends an event unless the previous event was about the same.
func (k *keeper) report(about string, event func() Event) {
	if about != "" && about != k.reported {
		k.Event(event())
	}
	k.reported = about
}

// usable returns the address of the lease, and whether the pod may use it.
func (k *keeper) usable() (netip.Prefix, bool) {
	r := k.record.Load()
	return r.Lease.Prefix, r.Lost == nil
}
