package pki

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
)

// Defaults, the same as in OpenShift: CAs are valid for ten years and replaced after nine; certificates are valid for half a year.
const (
	day                 = 24 * time.Hour
	caValidity          = 10 * 365 * day
	caRefresh           = 9 * 365 * day
	certificateValidity = 365 * day / 2
	overlap             = day
)

// maxNodeLifetime is the lifetime of the certificates that the signer network.openshift.io/signer issues to nodes with such a CA.
const maxNodeLifetime = 30 * day

// policyOf returns the lifetimes for an OperatorPKI.
func policyOf(pki *networkv1.OperatorPKI) certs.Policy {
	p := certs.Policy{
		Name:   caName(pki),
		CALife: caValidity, CARefresh: caRefresh, LeafLife: certificateValidity, Overlap: overlap,
		UntilExpired: fromOpenShift,
	}
	if r := pki.Spec.Rotation; r != nil {
		p.CALife = duration(r.AuthorityValidity, p.CALife)
		p.CARefresh = duration(r.AuthorityRefresh, p.CARefresh)
		p.LeafLife = duration(r.CertificateValidity, p.LeafLife)
		p.Overlap = duration(r.Overlap, p.Overlap)
		// The CRD has this rule, too; it may be violated after a value was raised to the minimum.
		p.CALife = max(p.CALife, p.CARefresh+p.Overlap+p.LeafLife)
	}
	return p
}

// trustPolicy is the policy for how long a CA is trusted. It includes the certificates of the signer for nodes.
func trustPolicy(p certs.Policy) certs.Policy {
	p.LeafLife = max(p.LeafLife, maxNodeLifetime)
	return p
}

// caName is the prefix of the common names of an OperatorPKI's CAs; the creation time follows.
func caName(pki *networkv1.OperatorPKI) string {
	return fmt.Sprintf("%s_%s-ca", pki.Namespace, pki.Name)
}

// fromOpenShift reports whether OpenShift's operator created the CA, by its RSA key. Nodes may have five-year certificates from it.
func fromOpenShift(c *x509.Certificate) bool { return c.PublicKeyAlgorithm == x509.RSA }

// requestOf returns the request for the certificate of an OperatorPKI.
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

// minDuration and maxDuration are the range in the CRD. It also applies to objects that are older than the range, because each
// rotation step writes Secrets.
const (
	minDuration = 10 * time.Second
	maxDuration = 30 * 365 * day
)

// duration parses a duration that the API server has validated. An unparsable one is replaced by the default.
func duration(text networkv1.Duration, usual time.Duration) time.Duration {
	if d, err := time.ParseDuration(string(text)); err == nil && d > 0 {
		return min(max(d, minDuration), maxDuration)
	}
	return usual
}
