package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// plan is what there should be of an OperatorPKI, to be written in this order: an authority is published before it signs,
// and before it can be lost.
type plan struct {
	Bundle      []byte
	Authority   map[string][]byte
	Certificate map[string][]byte
	// Due is when the answer will be another one.
	Due time.Time
	// Signs and Leaf are the certificates of the authority that signs and of the holder; Trusted is how many are trusted.
	Signs, Leaf *x509.Certificate
	Trusted     int
	// Refresh is when a successor of Signs is due.
	Refresh time.Time
	// Successor is set while one is only trusted; it signs from SuccessorSigns on.
	Successor      *x509.Certificate
	SuccessorSigns time.Time
	// Happened is what is to be told of the authority, in order, Issued why there is a new certificate.
	Happened, Issued []happening
}

// happening is something to report.
type happening struct {
	warning         bool
	reason, message string
}

// decide says what there should be. It is pure but for random numbers.
func decide(pki *networkv1.OperatorPKI, s state, now time.Time) (*plan, error) {
	policy := policyOf(pki)
	trust := trustPolicy(policy)
	before := s.recover(authorityName(pki), now)
	after, _, err := before.Step(trust, now)
	if err != nil {
		return nil, fmt.Errorf("move authority on: %w", err)
	}
	if before.Current == nil { // a rotation that begins knows nothing of what was before
		after.Previous = before.Previous.Live(now)
	}
	p := &plan{Bundle: after.Bundle().PEM(), Authority: encode(after), Signs: after.Current.Certificate(), Trusted: len(after.Bundle()), Due: after.Due(trust)}
	p.Refresh = policy.Refresh(p.Signs)
	if after.Next != nil {
		p.Successor, p.SuccessorSigns = after.Next.Certificate(), after.Next.Made().Add(policy.Overlap)
	}
	p.tell(before, after)
	return p, p.issue(requestOf(pki, policy), pairOf(s.certificate), after, policy, now)
}

// issue keeps the certificate that there is, or makes another one.
func (p *plan) issue(want certs.Request, have certs.Pair, r certs.Rotation, policy certs.Policy, now time.Time) error {
	why := certs.Stale(have, want, r.Current, now)
	// Where the predecessor was lost, its successor could not be trusted in advance. What was signed before serves until it is.
	if alone := r.SignsAlone(policy); why != "" && now.Before(alone) && certs.Serves(have, want, r.Previous, now, alone) {
		why = ""
		p.earlier(alone)
	}
	if why != "" {
		fresh, err := r.Current.Issue(want, now)
		if err != nil {
			return err
		}
		p.Issued = append(p.Issued, happening{reason: "CertificateIssued", message: fmt.Sprintf("issued a certificate for %s, since the one there was %s", want.CommonName, why)})
		have = fresh
	}
	leaf, _, err := have.Parse()
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	p.Certificate, p.Leaf = pairData(have), leaf
	if half := certs.HalfLife(leaf); half.After(now) {
		p.earlier(half)
	} else {
		p.earlier(leaf.NotAfter)
	}
	return nil
}

func (p *plan) earlier(t time.Time) {
	if t.Before(p.Due) {
		p.Due = t
	}
}

// tell notes what a step has done.
func (p *plan) tell(before recovered, after certs.Rotation) {
	say := func(warning bool, reason, format string, args ...any) {
		p.Happened = append(p.Happened, happening{warning, reason, fmt.Sprintf(format, args...)})
	}
	name := after.Current.Certificate().Subject.CommonName
	switch {
	case before.lost != "":
		say(true, "AuthorityLost", "the authority %s; %s signs now, and those before stay trusted until nothing that they signed is valid", before.lost, name)
	case before.Current == nil:
		say(false, "AuthorityMade", "created the CA %s", name)
	case !bytes.Equal(before.Current.Certificate().Raw, after.Current.Certificate().Raw):
		say(false, "SuccessorSigns", "the authority %s signs now; the one before stays trusted until nothing that it signed is valid", name)
	}
	if after.Next != nil && (before.Next == nil || !after.Next.Certificate().Equal(before.Next.Certificate())) {
		say(false, "SuccessorTrusted", "created the CA %s, which is trusted now and will sign later", after.Next.Certificate().Subject.CommonName)
	}
	if gone := len(before.Previous) - len(after.Previous); gone > 0 {
		say(false, "AuthorityForgotten", "an authority is not trusted any more, since nothing that it signed is valid")
	}
}
