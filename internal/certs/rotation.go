package certs

import (
	"fmt"
	"time"
)

// Policy says how long the certificates of an authority live.
type Policy struct {
	// Name is the common name of the authority.
	Name string
	// AuthorityLife is how long an authority is valid. Its successor is made at half of it.
	AuthorityLife time.Duration
	// LeafLife is how long what it signs is valid.
	LeafLife time.Duration
	// Overlap is how long a successor is only trusted before it signs: long enough for every holder of a bundle
	// to have the new one.
	Overlap time.Duration
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
	if r.Next == nil && !now.Before(HalfLife(r.Current.certificate)) {
		next, err := NewAuthority(p.Name, now, p.AuthorityLife)
		if err != nil {
			return r, false, fmt.Errorf("make successor: %w", err)
		}
		r.Next, changed = next, true
	}
	if r.Next != nil && !now.Before(made(r.Next).Add(p.Overlap)) {
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
	// Current signs since its making plus the overlap; what its predecessors signed before ends a leaf's life later.
	if now.After(made(r.Current).Add(p.Overlap + p.LeafLife)) {
		return nil
	}
	return r.Previous.Live(now)
}

// made returns the time an authority was made.
func made(a *Authority) time.Time { return a.certificate.NotBefore.Add(Skew) }

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
