package certs

import (
	"crypto/x509"
	"fmt"
	"time"
)

// Policy says how long the certificates of an authority live.
type Policy struct {
	// Name is the common name of the authority.
	Name string
	// AuthorityLife is how long an authority is valid.
	AuthorityLife time.Duration
	// AuthorityRefresh is how old an authority is when its successor is made. Zero is half of its life.
	AuthorityRefresh time.Duration
	// LeafLife is how long what it signs is valid.
	LeafLife time.Duration
	// Overlap is how long a successor is only trusted before it signs: long enough for every holder of a bundle
	// to have the new one.
	Overlap time.Duration
	// UntilExpired selects the authorities that others may have signed for longer with; they are trusted until they
	// expire. Nil selects none.
	UntilExpired func(*x509.Certificate) bool
}

// Refresh returns when the successor of an authority is to be made.
func (p Policy) Refresh(c *x509.Certificate) time.Time {
	if p.AuthorityRefresh == 0 {
		return HalfLife(c)
	}
	return made(c).Add(p.AuthorityRefresh)
}

// Rotation is an authority together with the one that follows it and the ones that it followed. All of them are
// trusted; only Current signs. The zero value is no authority yet.
type Rotation struct {
	Current *Authority
	// Next is trusted, but does not sign yet. It is nil most of the time.
	Next *Authority
	// Previous do not sign any more, but certificates signed by them may be in use.
	Previous Bundle
}

// Step returns the rotation as it ought to be now, and whether anything changed. It makes an authority where there
// is none, a successor at half of an authority's life, lets a successor sign once it was trusted for the overlap,
// and forgets an authority when nothing that it signed can be valid any more.
func (r Rotation) Step(p Policy, now time.Time) (Rotation, bool, error) {
	changed := false
	if r.Current == nil || !now.Before(r.Current.certificate.NotAfter) {
		fresh, err := r.restart(p, now)
		return fresh, true, err
	}
	if r.Next == nil && !now.Before(p.Refresh(r.Current.certificate)) {
		next, err := NewAuthority(p.Name, now, p.AuthorityLife)
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

// restart is for a fresh cluster, and for one that was off for longer than the authority's life: nothing that the
// old one signed is valid, so that there is nothing to overlap with.
func (r Rotation) restart(p Policy, now time.Time) (Rotation, error) {
	current, err := NewAuthority(p.Name, now, p.AuthorityLife)
	if err != nil {
		return r, err
	}
	return Rotation{Current: current}, nil
}

// needed returns the previous authorities that may still have signed something valid.
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

// forget returns when nothing that the predecessors of Current have signed is valid any more. Current signs since its
// making plus the overlap; what they signed before ends a leaf's life later.
func (r Rotation) forget(p Policy) time.Time { return r.SignsAlone(p).Add(p.LeafLife) }

// SignsAlone returns the time from which Current is trusted by everybody, so that its predecessors need not sign any
// more. It is in the past for one that followed another in order, and in the future for one whose predecessor was lost.
func (r Rotation) SignsAlone(p Policy) time.Time { return r.Current.Made().Add(p.Overlap) }

func (p Policy) untilExpired(c *x509.Certificate) bool {
	return p.UntilExpired != nil && p.UntilExpired(c)
}

// Due returns when Step will change something, if it is not called before. Current must be there.
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

// Made returns when an authority was made.
func (a *Authority) Made() time.Time { return made(a.certificate) }

// Bundle returns everything that is to be trusted.
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
