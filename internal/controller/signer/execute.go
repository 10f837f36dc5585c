package signer

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/phrase"
)

// execute carries out a decision. It updates csr to the stored version.
func (c *Controller) execute(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, d Decision) error {
	switch d.Action {
	case Deny:
		return c.refuse(ctx, csr, certificatesv1.CertificateDenied, d)
	case Fail:
		return c.refuse(ctx, csr, certificatesv1.CertificateFailed, d)
	case Sign:
		if err := c.approve(ctx, csr, d); err != nil {
			return err
		}
		return c.sign(ctx, csr, d)
	}
	return nil
}

// refuse sets the condition that ends a request.
func (c *Controller) refuse(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, d Decision) error {
	c.condition(csr, kind, d.Reason(), d.Message())
	var err error
	if kind == certificatesv1.CertificateDenied {
		err = c.Client.SubResource("approval").Update(ctx, csr, fieldManager)
	} else {
		err = c.Client.Status().Update(ctx, csr, fieldManager)
	}
	if err != nil {
		return fmt.Errorf("write refusal: %w", err)
	}
	c.ledger.finish(csr)
	c.Metrics.refused(d)
	c.event(csr, true, d.Reason(), d.Message())
	c.Log.Info("refused a certificate", "request", csr.Name, "user", csr.Spec.Username, "reason", d.Reason(), "message", d.Message())
	return nil
}

// approve sets the condition Approved unless it is set.
func (c *Controller) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, d Decision) error {
	if has(csr, certificatesv1.CertificateApproved) {
		return nil
	}
	message := "Automatically approved by " + SignerName
	if d.Note != "" {
		message += ": " + d.Note
	}
	c.condition(csr, certificatesv1.CertificateApproved, "AutoApproved", message)
	if err := c.Client.SubResource("approval").Update(ctx, csr, fieldManager); err != nil {
		return fmt.Errorf("write approval: %w", err)
	}
	return nil
}

// sign signs the request and stores the certificate.
func (c *Controller) sign(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, d Decision) error {
	ca, err := c.ca.read(ctx, c.Live, c.Now())
	if err != nil {
		return err
	}
	certificate, err := ca.Certify(d.Template, d.Key)
	if err != nil {
		return &caError{"SigningFailure", err}
	}
	csr.Status.Certificate = certificate
	if err := c.Client.Status().Update(ctx, csr, fieldManager); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	c.ledger.finish(csr)
	c.Metrics.signed(c.Now().Sub(csr.CreationTimestamp.Time))
	c.event(csr, false, "Signed", fmt.Sprintf("signed a certificate for %s, valid until %s", d.Template.Subject.CommonName, d.Template.NotAfter.Format("2006-01-02 15:04 MST")))
	c.Log.Info("signed a certificate", "request", csr.Name, "for", d.Template.Subject.CommonName)
	return nil
}

func (c *Controller) condition(csr *certificatesv1.CertificateSigningRequest, kind certificatesv1.RequestConditionType, reason, message string) {
	now := metav1.NewTime(c.Now())
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastUpdateTime: now, LastTransitionTime: now})
}

func (c *Controller) event(csr *certificatesv1.CertificateSigningRequest, warning bool, reason, message string) {
	kind := corev1.EventTypeNormal
	if warning {
		kind = corev1.EventTypeWarning
	}
	about := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: csr.Name, UID: csr.UID, ResourceVersion: csr.ResourceVersion}}
	about.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"))
	c.Events.Eventf(about, nil, kind, reason, "Reconcile", "%s", phrase.Note(message))
}
