package dhcp

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cluster-network-operator/cno/internal/multinet/strictjson"
)

// outcome is the result of a request for an existing lease.
type outcome int

const (
	// notExtended: no server sent a usable answer. The lease is unchanged.
	notExtended outcome = iota
	// extended: the lease is valid for longer.
	extended
	// lost: the address must not be used any more.
	lost
	// interfaceGone: the interface no longer exists.
	interfaceGone
)

// decision is the action after a request.
type decision struct {
	outcome outcome
	// lease is the extended one.
	lease Lease
	// cause is the reason if the lease is lost or not extended.
	cause error
	// changed describes the options of the extension that differ from those of the pod; empty for none.
	changed string
}

// decide returns the action after a request to extend a lease, which failed with err or returned the lease read. A server that acknowledges another
// address no longer leases the first one.
func decide(l Lease, read Lease, err error, now time.Time, t Times) decision {
	_, refused := errors.AsType[*RefusedError](err)
	switch {
	case errors.Is(err, ErrGone):
		return decision{outcome: interfaceGone, cause: err}
	case refused:
		return decision{outcome: lost, cause: err}
	case err == nil && read.Prefix.Addr() != l.Prefix.Addr():
		return decision{outcome: lost, cause: fmt.Errorf("the DHCP server %s now gives %s", read.Server, read.Prefix.Addr())}
	case err == nil:
		return decision{outcome: extended, lease: extend(l, read), changed: changes(l, read)}
	case t.At(now) == Expired:
		return decision{outcome: lost, cause: fmt.Errorf("the lease has expired: %w", err)}
	}
	return decision{cause: err}
}

// extend returns a lease with the times and the server of its extension. The options stay those of the pod.
func extend(l, by Lease) Lease {
	l.Valid, l.Renew, l.Rebind, l.Since, l.Server, l.Ack = by.Valid, by.Renew, by.Rebind, by.Since, by.Server, by.Ack
	return l
}

// changes describes the options of an extension that differ from those of the lease. Servers may leave out what they gave before.
func changes(before, after Lease) string {
	var out []string
	if before.Prefix != after.Prefix {
		out = append(out, fmt.Sprintf("the prefix length is %d (was %d)", after.Prefix.Bits(), before.Prefix.Bits()))
	}
	if len(after.Routes) > 0 && !slices.Equal(before.Routes, after.Routes) {
		out = append(out, fmt.Sprintf("the routes are %s (were %s)", describe(after.Routes), describe(before.Routes)))
	}
	if len(after.DNS) > 0 && !slices.Equal(before.DNS, after.DNS) {
		out = append(out, fmt.Sprintf("the DNS servers are %s (were %s)", join(after.DNS), join(before.DNS)))
	}
	return strings.Join(out, "; ")
}

func describe(routes []Route) string {
	if len(routes) == 0 {
		return "none"
	}
	out := make([]string, len(routes))
	for i, r := range routes {
		out[i] = r.Destination.String() + " via " + r.Via.String()
	}
	return strings.Join(out, ", ")
}

func join(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return "none"
	}
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return strings.Join(out, ", ")
}

// lostEvent, restoredEvent, changedEvent and otherAddressEvent return the events of a lease.
func (r Record) lostEvent(cause error) Event {
	return r.event(true, ReasonLost, "lost the address %s: %v; the address is removed from the interface, and the server is asked for it again", r.Lease.Prefix.Addr(), cause)
}

func (r Record) restoredEvent() Event {
	return r.event(false, ReasonRestored, "has the address %s again, by DHCP server %s", r.Lease.Prefix.Addr(), r.Lease.Server)
}

func (r Record) changedEvent(changed string) Event {
	return r.event(true, ReasonChanged, "the DHCP server %s has changed options: %s; the pod keeps those that it started with, recreate it to apply them", r.Lease.Server, changed)
}

func (r Record) otherAddressEvent(other *OtherError) Event {
	return r.event(true, ReasonOther, "cannot have the address %s again: %v; a pod keeps the address that it started with, recreate it to use another one", r.Lease.Prefix.Addr(), other)
}

func (r Record) event(warning bool, reason, format string, args ...any) Event {
	return Event{
		Pod: r.Call.Pod(), Warning: warning, Reason: reason,
		Message: fmt.Sprintf("%s (network %s) ", r.Call.IfName, r.Call.Network) + fmt.Sprintf(format, args...),
	}
}

// quote returns a server's text in printable form, shortened.
func quote(text string) string {
	return strconv.Quote(strictjson.Short(strings.ToValidUTF8(strings.TrimRight(text, "\x00"), "?")))
}
