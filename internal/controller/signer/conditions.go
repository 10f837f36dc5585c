package signer

import (
	"errors"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// settle notes what became of a pass over a request. Only the authority and the API server can be the cluster's trouble, and
// only while a request waits for them.
func (c *Controller) settle(csr *certificatesv1.CertificateSigningRequest, failure error) {
	if c.ledger.wait(csr, failure) {
		finding := findingOf(failure)
		c.tell(csr, true, finding.Reason, finding.Message)
	}
	c.say()
}

// say reports how things stand for the cluster.
func (c *Controller) say() {
	var findings []status.Finding
	for _, failure := range c.ledger.waiting() {
		findings = append(findings, findingOf(failure))
	}
	c.Report(findings...)
}

func findingOf(failure error) status.Finding {
	f := status.Finding{Component: "CertificateSigner", Effect: status.Degraded, Reason: "UpdateFailure",
		Message: "certificates of nodes cannot be issued: " + failure.Error()}
	if authority, is := errors.AsType[*authorityError](failure); is {
		f.Reason = authority.reason
	}
	return f
}
