package signer

import (
	"errors"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/cluster-network-operator/cno/internal/status"
)

// recordResult stores the result of a reconcile and updates the cluster's findings. Only errors of the CA and the API server are reported
// there, while a request waits.
func (c *Controller) recordResult(csr *certificatesv1.CertificateSigningRequest, failure error) {
	if c.ledger.wait(csr, failure) {
		finding := findingOf(failure)
		c.event(csr, true, finding.Reason, finding.Message)
	}
	c.report()
}

// report sets the findings for the cluster's status.
func (c *Controller) report() {
	var findings []status.Finding
	for _, failure := range c.ledger.waitReasons() {
		findings = append(findings, findingOf(failure))
	}
	c.Report(findings...)
}

func findingOf(failure error) status.Finding {
	f := status.Finding{Component: "CertificateSigner", Effect: status.Degraded, Reason: "UpdateFailure",
		Message: "certificates of nodes cannot be issued: " + failure.Error()}
	if err, ok := errors.AsType[*caError](failure); ok {
		f.Reason = err.reason
	}
	return f
}
