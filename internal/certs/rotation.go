package certs

import (
	"crypto/x509"
	"fmt"
	"time"
)

// Policy has the lifetimes of the certificates of a CA.
type Policy struct {
	// Name is the common name of the CA.
	Name string
	// CALife is the validity of a CA.
	CALife time.Duration
	// CARefresh is the age of a CA at which its successor is created. Zero means half of its life.
	CARefresh time.Duration
	// LeafLife is the validity of certificates that it signs.
	LeafLife time.Duration
	// Overlap is the time for which a successor is trusted before it signs: long enough for the new bundle to reach all
	// clients.
	Overlap time.Duration
	// UntilExpired selects CAs with which another client may have signed longer-lived certificates; they are trusted until
	// they expire. Nil selects none.
	UntilExpired func(*x509.Certificate) bool
}

// Refresh returns the time at which the successor of a CA is to be created.
func (p Policy) Refresh(c *x509.Certificate) time.Time {
	if p.CARefresh == 0 {
		return HalfLife(c)
	}
	return made(c).Add(p.CARefresh)
}

// Rotation is a CA with its successor and its predecessors. All of them are trusted; only Current signs. The zero value
// has no CA yet.
type Rotation struct {
	Current *CA
	// Next is trusted, but does not sign yet. It is nil if there is no successor.
	Next *CA
	// Previous CAs do not sign any more, but certificates that they have signed may be in use.
	Previous Bundle
}

// Step returns the rotation at a time, and whether it has changed. It creates a CA if there is none, creates a successor at
// the time of Refresh, lets the successor sign after the overlap, and drops a CA when none of its certificates can be valid
// any more.
func (r Rotation) Step(p Policy, now time.Time) (Rotation, bool, error) {
	changed := false
	if r.Current == nil || !now.Before(r.Current.certificate.NotAfter) {
		fresh, err := r.restart(p, now)
		return fresh, true, err
	}
	if r.Next == nil && !now.Before(p.Refresh(r.Current.certificate)) {
		next, err := NewCA(p.Name, now, p.CALife)
		if err != nil {
			return r, false, fmt.Errorf("create successor: %w", err)
		}
		r.Next, changed = next, true
	}
	if r.Next != nil && !now.Before(r.Next.Made().Add(p.Overlap)) {
		r.Previous = r.Previous.With(r.Current.certificate)
		r.Current, r.Next, changed = r.Next, nil, true
	}
	if kept := r.needed(p, now); len(kept) != len(r.Previous) {
		r.Previous, changed = kept, true
	}
	return r, changed, nil
}

// restart creates a CA without overlap, for a new cluster and for one that was off for longer than the CA's life: none of
// the certificates of the old CA is valid.
func (r Rotation) restart(p Policy, now time.Time) (Rotation, error) {
	current, err := NewCA(p.Name, now, p.CALife)
	if err != nil {
		return r, err
	}
	return Rotation{Current: current}, nil
}

// needed returns the previous CAs whose certificates may still be valid.
func (r Rotation) needed(p Policy, now time.Time) Bundle {
	forget := now.After(r.forget(p))
	var kept Bundle
	for _, c := range r.Previous.Live(now) {
		if !forget || p.untilExpired(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// forget returns the time from which no certificate of the predecessors of Current is valid. Current signs from its creation
// plus the overlap on; certificates that were signed before expire after the life of a leaf.
func (r Rotation) forget(p Policy) time.Time { return r.SignsAlone(p).Add(p.LeafLife) }

// SignsAlone returns the time from which all clients trust Current, so that its predecessors need not sign any more. It is
// in the past after a regular rotation, and in the future if the predecessor was lost.
func (r Rotation) SignsAlone(p Policy) time.Time { return r.Current.Made().Add(p.Overlap) }

func (p Policy) untilExpired(c *x509.Certificate) bool {
	return p.UntilExpired != nil && p.UntilExpired(c)
}

// Due returns the time at which Step will change the rotation. Current must not be nil.
func (r Rotation) Due(p Policy) time.Time {
	due := r.Current.certificate.NotAfter
	earlier := func(t time.Time) {
		if t.Before(due) {
			due = t
		}
	}
	if r.Next != nil {
		earlier(r.Next.Made().Add(p.Overlap))
	} else {
		earlier(p.Refresh(r.Current.certificate))
	}
	for _, c := range r.Previous {
		earlier(c.NotAfter)
		if !p.untilExpired(c) {
			earlier(r.forget(p).Add(time.Second))
		}
	}
	return due
}

// Made returns the time at which a CA was created.
func (a *CA) Made() time.Time { return made(a.certificate) }

// Bundle returns all CAs to trust.
func (r Rotation) Bundle() Bundle {
	var out Bundle
	if r.Current != nil {
		out = out.With(r.Current.certificate)
	}
	if r.Next != nil {
		out = out.With(r.Next.certificate)
	}
	return out.With(r.Previous...)
}
