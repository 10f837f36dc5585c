package certs

import (
	"testing"
	"time"
)

// TestTrustIsKeptWhileACAIsReplaced simulates three lifetimes of a CA hour by hour, with holders
// that learn of a new bundle as late as the overlap allows, and checks every handshake that could happen.
func TestTrustIsKeptWhileACAIsReplaced(t *testing.T) {
	const lag = 9 * time.Hour // holders get a bundle this late; the overlap is 10
	type seen struct {
		at     time.Time
		bundle Bundle
	}
	var (
		r       Rotation
		leaf    Pair
		history []seen
		signers = map[string]bool{}
	)
	for hour := range 1600 {
		now := start.Add(time.Duration(hour) * time.Hour)
		next, changed, err := r.Step(policy, now)
		if err != nil {
			t.Fatal(err)
		}
		if again, more, _ := next.Step(policy, now); more {
			t.Fatalf("hour %d: a second step at the same time changed %v to %v", hour, next, again)
		}
		if r = next; changed {
			history = append(history, seen{now, r.Bundle()})
		}
		signers[r.Current.Certificate().Subject.CommonName] = true
		if Stale(leaf, member, r.Current, now) != "" {
			leaf = issue(t, r.Current, member, now)
		}
		c, _, err := leaf.Parse()
		if err != nil {
			t.Fatal(err)
		}
		held := history[0].bundle
		for _, h := range history {
			if !now.Before(h.at.Add(lag)) {
				held = h.bundle
			}
		}
		if !held.Trusts(c, now) {
			t.Fatalf("hour %d: the certificate is not trusted by a bundle that is %s old", hour, lag)
		}
		if len(held) > 2 {
			t.Fatalf("hour %d: %d CAs are trusted", hour, len(held))
		}
	}
	if len(signers) != 4 {
		t.Errorf("%d CAs signed, want 4 in three half lives", len(signers))
	}
}

func TestExpiredCAIsReplacedAtOnce(t *testing.T) {
	r, _, err := Rotation{}.Step(policy, start)
	if err != nil {
		t.Fatal(err)
	}
	later := start.Add(2000 * time.Hour) // the cluster was off
	next, changed, err := r.Step(policy, later)
	if err != nil || !changed {
		t.Fatalf("changed %v, error %v", changed, err)
	}
	if next.Current.Certificate().Equal(r.Current.Certificate()) || len(next.Bundle()) != 1 {
		t.Error("the expired CA is still in use")
	}
}

func TestRetiredCAIsRemovedWhenItsCertificatesHaveExpired(t *testing.T) {
	r, _, err := Rotation{}.Step(policy, start)
	if err != nil {
		t.Fatal(err)
	}
	old := r.Current.Certificate()
	for _, tc := range []struct {
		at      time.Duration
		trusted bool
		why     string
	}{
		{500 * time.Hour, true, "a successor was made"},
		{511 * time.Hour, true, "the successor signs"},
		{605 * time.Hour, true, "the last certificate it signed is still valid"},
		{611 * time.Hour, false, "nothing that it signed is valid"},
	} {
		if r, _, err = r.Step(policy, start.Add(tc.at)); err != nil {
			t.Fatal(err)
		}
		if got := r.Bundle().Contains(Bundle{old}); got != tc.trusted {
			t.Errorf("after %s (%s): trusted is %v", tc.at, tc.why, got)
		}
	}
}
