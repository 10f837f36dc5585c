package dhcp

import "time"

// State is that of a lease (RFC 2131, section 4.4.5).
type State int

// The states of a lease, in the order of time.
const (
	// Bound is before T1: there is nothing to do.
	Bound State = iota
	// Renewing is from T1: the server of the lease is asked.
	Renewing
	// Rebinding is from T2: any server is asked.
	Rebinding
	// Expired is after the lease: the address must not be used.
	Expired
)

func (s State) String() string { return [...]string{"bound", "renewing", "rebinding", "expired"}[s] }

// Times are the moments of a lease, in this order.
type Times struct{ Renew, Rebind, Expire time.Time }

// times returns the moments of a lease of a client.
func (l Lease) times(clientID []byte) Times {
	return Times{
		Renew:  l.Since.Add(l.Renew - spread(clientID, l.Renew)),
		Rebind: l.Since.Add(l.Rebind),
		Expire: l.Since.Add(l.Valid),
	}
}

// At returns the state at a moment.
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

// End returns when the state at a moment ends; that of Expired has already.
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

// shortest and longest bound the time between two requests for one lease.
const (
	shortest = 2 * time.Second
	longest  = time.Minute
)

// Next returns when the next request for a lease is due, after one of the state asked that was not answered until now: at once if the state
// has changed meanwhile, else after half of what remains of the state. As RFC 2131 says, that is not less than a minute; of a lease shorter
// than a quarter of an hour, it is not less than a sixteenth of the lease, or there would be no second request. The end of the state is
// not passed.
func (t Times) Next(asked State, now time.Time) time.Time {
	end := t.End(now)
	switch state := t.At(now); {
	case state == Bound:
		return end
	case state != asked || state == Expired:
		return now
	}
	least := min(max(t.Expire.Sub(t.Renew)/8, shortest), longest)
	next := now.Add(max(end.Sub(now)/2, least))
	if next.After(end) {
		return end
	}
	return next
}

// regainFirst and regainLongest bound the time between two attempts to get a lost address again.
const (
	regainFirst   = 5 * time.Second
	regainLongest = 5 * time.Minute
)

// regainAfter is the time after a number of failed attempts to get an address again; none before the first.
func regainAfter(failed int) time.Duration {
	if failed == 0 {
		return 0
	}
	return min(regainFirst<<min(failed-1, 10), regainLongest)
}
