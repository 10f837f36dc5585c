package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"time"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// plan is the desired state of an OperatorPKI. It is written in this order, so that a CA is published before it signs.
type plan struct {
	Bundle      []byte
	CA          map[string][]byte
	Certificate map[string][]byte
	// Due is the time from which the plan changes.
	Due time.Time
	// Signer is the CA certificate that signs, Leaf that of the holder. Trusted is the number of trusted CAs.
	Signer, Leaf *x509.Certificate
	Trusted      int
	// Refresh is the time when Signer gets a successor.
	Refresh time.Time
	// Successor is set while the next CA is trusted but does not sign yet. It signs from SuccessorSigns on.
	Successor      *x509.Certificate
	SuccessorSigns time.Time
	// Events are the events about the CA, in order; IssueEvents is the event about a new certificate.
	Events, IssueEvents []event
}

// event is an event to record.
type event struct {
	warning         bool
	reason, message string
}

// decide returns the plan. It is pure except for random numbers.
func decide(pki *networkv1.OperatorPKI, s state, now time.Time) (*plan, error) {
	policy := policyOf(pki)
	trust := trustPolicy(policy)
	before := s.recover(caName(pki), now)
	after, _, err := before.Step(trust, now)
	if err != nil {
		return nil, fmt.Errorf("rotate CA: %w", err)
	}
	if before.Current == nil { // a new rotation does not know the previous CAs
		after.Previous = before.Previous.Live(now)
	}
	p := &plan{Bundle: after.Bundle().PEM(), CA: encode(after), Signer: after.Current.Certificate(), Trusted: len(after.Bundle()), Due: after.Due(trust)}
	p.Refresh = policy.Refresh(p.Signer)
	if after.Next != nil {
		p.Successor, p.SuccessorSigns = after.Next.Certificate(), after.Next.Made().Add(policy.Overlap)
	}
	p.recordStep(before, after)
	return p, p.issue(requestOf(pki, policy), pairOf(s.certificate), after, policy, now)
}

// issue keeps the existing certificate, or issues a new one.
func (p *plan) issue(request certs.Request, existing certs.Pair, r certs.Rotation, policy certs.Policy, now time.Time) error {
	why := certs.Stale(existing, request, r.Current, now)
	// A CA that was lost is replaced without advance trust. The existing certificate stays until the new CA is trusted.
	if alone := r.SignsAlone(policy); why != "" && now.Before(alone) && certs.Serves(existing, request, r.Previous, now, alone) {
		why = ""
		p.setDue(alone)
	}
	if why != "" {
		issued, err := r.Current.Issue(request, now)
		if err != nil {
			return err
		}
		p.IssueEvents = append(p.IssueEvents, event{reason: "CertificateIssued", message: fmt.Sprintf("issued a certificate for %s, because the existing one was %s", request.CommonName, why)})
		existing = issued
	}
	leaf, _, err := existing.Parse()
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	p.Certificate, p.Leaf = pairData(existing), leaf
	if half := certs.HalfLife(leaf); half.After(now) {
		p.setDue(half)
	} else {
		p.setDue(leaf.NotAfter)
	}
	return nil
}

func (p *plan) setDue(t time.Time) {
	if t.Before(p.Due) {
		p.Due = t
	}
}

// recordStep adds the events for a rotation step.
func (p *plan) recordStep(before recovered, after certs.Rotation) {
	add := func(warning bool, reason, format string, args ...any) {
		p.Events = append(p.Events, event{warning, reason, fmt.Sprintf(format, args...)})
	}
	name := after.Current.Certificate().Subject.CommonName
	switch {
	case before.lost != "":
		add(true, "AuthorityLost", "the CA %s; %s signs now, and previous CAs stay trusted until the certificates that they signed have expired", before.lost, name)
	case before.Current == nil:
		add(false, "AuthorityMade", "created the CA %s", name)
	case !bytes.Equal(before.Current.Certificate().Raw, after.Current.Certificate().Raw):
		add(false, "SuccessorSigns", "the CA %s signs now; the previous one stays trusted until the certificates that it signed have expired", name)
	}
	if after.Next != nil && (before.Next == nil || !after.Next.Certificate().Equal(before.Next.Certificate())) {
		add(false, "SuccessorTrusted", "created the CA %s, which is trusted now and will sign later", after.Next.Certificate().Subject.CommonName)
	}
	if gone := len(before.Previous) - len(after.Previous); gone > 0 {
		add(false, "AuthorityForgotten", "a previous CA is no longer trusted, because the certificates that it signed have expired")
	}
}
