package pki

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/certs"
	"github.com/cluster-network-operator/cno/internal/eventaction"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/status"
)

// publish updates the status of the OperatorPKI, the metrics, and the findings for the cluster.
func (c *Controller) publish(ctx context.Context, pki *networkv1.OperatorPKI, p *plan, failure error) error {
	// Conflicts are retried immediately and not reported.
	if apierrors.IsConflict(failure) || apierrors.IsAlreadyExists(failure) {
		return nil
	}
	key := client.ObjectKeyFromObject(pki)
	problem := ""
	if failure != nil {
		problem = failure.Error()
	}
	next := pki.DeepCopy()
	next.Status.ObservedGeneration = pki.Generation
	ready, rotating := conditions(p, failure)
	for _, condition := range []*metav1.Condition{ready, rotating} {
		if condition != nil {
			condition.ObservedGeneration, condition.LastTransitionTime = pki.Generation, metav1.NewTime(c.Now())
			meta.SetStatusCondition(&next.Status.Conditions, *condition)
		}
	}
	if p != nil {
		next.Status.Trusted = int32(p.Trusted)
		next.Status.Authority = life(p.Signer, p.Refresh)
		next.Status.Certificate = life(p.Leaf, certs.HalfLife(p.Leaf))
		c.Metrics.expires(key, p)
	}
	c.setFailure(key, problem)
	if equality.Semantic.DeepEqual(next.Status, pki.Status) {
		return nil
	}
	if failure != nil && ready.Message != messageOf(pki, ready.Type) {
		c.recordEvents(pki, event{true, ready.Reason, ready.Message})
	}
	if err := c.Client.Status().Update(ctx, next, fieldManager); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of operator PKI: %w", err)
	}
	return nil
}

// conditions returns the conditions Ready and Rotating; the latter is nil if there is no plan.
func conditions(p *plan, failure error) (ready, rotating *metav1.Condition) {
	ready = &metav1.Condition{Type: networkv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AsExpected", Message: "The CA and the certificate are valid"}
	if failure != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "PKIError", failure.Error()
		if isNameTaken(failure) {
			ready.Reason = "NameTaken"
		}
	}
	if p == nil {
		return ready, nil
	}
	rotating = &metav1.Condition{Type: networkv1.ConditionRotating, Status: metav1.ConditionFalse, Reason: "AsExpected", Message: "One CA is trusted"}
	switch {
	case p.Successor != nil:
		rotating.Status, rotating.Reason = metav1.ConditionTrue, "SuccessorTrusted"
		rotating.Message = fmt.Sprintf("%s is trusted, and signs from %s", p.Successor.Subject.CommonName, p.SuccessorSigns.UTC().Format(time.RFC3339))
	case p.Trusted > 1:
		rotating.Status, rotating.Reason = metav1.ConditionTrue, "PredecessorTrusted"
		rotating.Message = fmt.Sprintf("%s signs; %d previous CAs stay trusted until the certificates that they signed have expired", p.Signer.Subject.CommonName, p.Trusted-1)
	}
	return ready, rotating
}

func life(c *x509.Certificate, refresh time.Time) *networkv1.CertificateStatus {
	return &networkv1.CertificateStatus{
		SerialNumber: fmt.Sprintf("%x", c.SerialNumber),
		NotBefore:    metav1.NewTime(c.NotBefore), NotAfter: metav1.NewTime(c.NotAfter), Refresh: metav1.NewTime(refresh.Truncate(time.Second)),
	}
}

func messageOf(pki *networkv1.OperatorPKI, conditionType string) string {
	if existing := meta.FindStatusCondition(pki.Status.Conditions, conditionType); existing != nil {
		return existing.Message
	}
	return ""
}

// recordEvents records events and log lines.
func (c *Controller) recordEvents(pki *networkv1.OperatorPKI, recorded ...event) {
	subject := pki.DeepCopy()
	subject.SetGroupVersionKind(networkv1.GroupVersion.WithKind("OperatorPKI"))
	for _, h := range recorded {
		kind := corev1.EventTypeNormal
		if h.warning {
			kind = corev1.EventTypeWarning
		}
		c.Events.Eventf(subject, nil, kind, h.reason, eventaction.Of("Reconcile", h.message), "%s", phrase.Note(h.message))
		c.Log.Info(h.message, "namespace", pki.Namespace, "name", pki.Name, "reason", h.reason)
	}
}

// failures are the current failures of the cluster's own OperatorPKIs.
type failures struct {
	mu sync.Mutex
	of map[client.ObjectKey]string
}

// setFailure sets the failure of an OperatorPKI, or removes it if problem is empty, and updates the cluster's findings. Failures in users'
// namespaces are ignored.
func (c *Controller) setFailure(key client.ObjectKey, problem string) {
	t := &c.failures
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[client.ObjectKey]string{}
	}
	if delete(t.of, key); problem != "" && c.OfCluster(key.Namespace) {
		t.of[key] = problem
	}
	var findings []status.Finding
	for _, key := range slices.SortedFunc(maps.Keys(t.of), func(a, b client.ObjectKey) int { return strings.Compare(a.String(), b.String()) }) {
		findings = append(findings, status.Finding{Component: "PKIConfig", Effect: status.Degraded, Reason: "PKIError",
			Message: fmt.Sprintf("OperatorPKI %s: %s", key, t.of[key])})
	}
	c.Report(findings...)
}
