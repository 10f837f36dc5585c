package pki

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// The times of OpenShift's operator: authorities of ten years, replaced after nine; certificates of half a year.
const (
	day                 = 24 * time.Hour
	authorityValidity   = 10 * 365 * day
	authorityRefresh    = 9 * 365 * day
	certificateValidity = 365 * day / 2
	overlap             = day
)

// longestGrant is how long the certificates are valid that the signer of network.openshift.io/signer gives to nodes with one
// of these authorities.
const longestGrant = 30 * day

// policyOf returns how long the certificates of an OperatorPKI live.
func policyOf(pki *networkv1.OperatorPKI) certs.Policy {
	p := certs.Policy{
		Name:          authorityName(pki),
		AuthorityLife: authorityValidity, AuthorityRefresh: authorityRefresh, LeafLife: certificateValidity, Overlap: overlap,
		UntilExpired: foreign,
	}
	if r := pki.Spec.Rotation; r != nil {
		p.AuthorityLife = duration(r.AuthorityValidity, p.AuthorityLife)
		p.AuthorityRefresh = duration(r.AuthorityRefresh, p.AuthorityRefresh)
		p.LeafLife = duration(r.CertificateValidity, p.LeafLife)
		p.Overlap = duration(r.Overlap, p.Overlap)
		// A rule of the CRD, which may no longer hold for what was raised to the floor.
		p.AuthorityLife = max(p.AuthorityLife, p.AuthorityRefresh+p.Overlap+p.LeafLife)
	}
	return p
}

// trustPolicy is the same for the question how long an authority is to be trusted: others may sign with it, too.
func trustPolicy(p certs.Policy) certs.Policy {
	p.LeafLife = max(p.LeafLife, longestGrant)
	return p
}

// authorityName is how the authorities of an OperatorPKI are called, up to the time of their making.
func authorityName(pki *networkv1.OperatorPKI) string {
	return fmt.Sprintf("%s_%s-ca", pki.Namespace, pki.Name)
}

// foreign reports whether an authority was made by OpenShift's operator, whose keys are RSA's. Nodes may have certificates of
// five years from it.
func foreign(c *x509.Certificate) bool { return c.PublicKeyAlgorithm == x509.RSA }

// requestOf returns what the certificate of an OperatorPKI holds.
func requestOf(pki *networkv1.OperatorPKI, p certs.Policy) certs.Request {
	name := pki.Spec.TargetCert.CommonName
	r := certs.Request{CommonName: name, Usage: certs.Peer, Life: p.LeafLife}
	if address, err := netip.ParseAddr(name); err == nil {
		r.Addresses = []netip.Addr{address}
	} else {
		r.Names = []string{name}
	}
	return r
}

// shortest and longest are the range of the CRD. Objects that are older than the range are kept in it, too: each step of a
// rotation writes Secrets.
const (
	shortest = 10 * time.Second
	longest  = 30 * 365 * day
)

// duration reads a time span that the API server has checked; what it has not is taken for the one that is usual.
func duration(text networkv1.Duration, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(string(text)); err == nil && d > 0 {
		return min(max(d, shortest), longest)
	}
	return usual
}
