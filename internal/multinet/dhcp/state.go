package dhcp

import "time"

// State is the state of a lease (RFC 2131, section 4.4.5).
type State int

// The states of a lease, in the order of time.
const (
	// Bound is before T1: no request is due.
	Bound State = iota
	// Renewing is from T1: the server of the lease is asked.
	Renewing
	// Rebinding is from T2: any server is asked.
	Rebinding
	// Expired is after the lease: the address must not be used.
	Expired
)

func (s State) String() string { return [...]string{"bound", "renewing", "rebinding", "expired"}[s] }

// Times are the times at which the state of a lease changes, in this order.
type Times struct{ Renew, Rebind, Expire time.Time }

// times returns the times of a lease for a client.
func (l Lease) times(clientID []byte) Times {
	return Times{
		Renew:  l.Since.Add(l.Renew - spread(clientID, l.Renew)),
		Rebind: l.Since.Add(l.Rebind),
		Expire: l.Since.Add(l.Valid),
	}
}

// At returns the state at a time.
func (t Times) At(now time.Time) State {
	switch {
	case now.Before(t.Renew):
		return Bound
	case now.Before(t.Rebind):
		return Renewing
	case now.Before(t.Expire):
		return Rebinding
	}
	return Expired
}

// End returns when the state at a time ends; for Expired, that is in the past.
func (t Times) End(now time.Time) time.Time {
	switch t.At(now) {
	case Bound:
		return t.Renew
	case Renewing:
		return t.Rebind
	case Rebinding, Expired:
	}
	return t.Expire
}

// minRequestInterval and longest bound the time between two requests for one lease.
const (
	minRequestInterval = 2 * time.Second
	maxRequestInterval = time.Minute
)

// Next returns the time of the next request, after a request in the state asked got no answer until now: at once if the state has changed, otherwise
// after half of the remaining time of the state, but at most at its end. The interval is at least a minute, as RFC 2131 requires; for a lease of less
// than 15 minutes, it is at least a sixteenth of the lease, which allows a second request.
func (t Times) Next(asked State, now time.Time) time.Time {
	end := t.End(now)
	switch state := t.At(now); {
	case state == Bound:
		return end
	case state != asked || state == Expired:
		return now
	}
	least := min(max(t.Expire.Sub(t.Renew)/8, minRequestInterval), maxRequestInterval)
	next := now.Add(max(end.Sub(now)/2, least))
	if next.After(end) {
		return end
	}
	return next
}

// minRegainDelay and maxRegainDelay bound the time between two attempts to regain a lost address.
const (
	minRegainDelay = 5 * time.Second
	maxRegainDelay = 5 * time.Minute
)

// regainDelay returns the delay after a number of failed attempts to regain an address; 0 before the first attempt.
func regainDelay(failed int) time.Duration {
	if failed == 0 {
		return 0
	}
	return min(minRegainDelay<<min(failed-1, 10), maxRegainDelay)
}
