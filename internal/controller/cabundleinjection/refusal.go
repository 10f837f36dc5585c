package cabundleinjection

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

// Reasons of events on ConfigMaps.
const (
	reasonImmutable = "CABundleImmutable"
	reasonTooLarge  = "CABundleTooLarge"
	reasonRefused   = "CABundleRefused"
	reasonContested = "CABundleContested"
	reasonRemoved   = "CABundleRemoved"
	reasonLimit     = "CABundleLimit"
)

// refusal is the reason why a ConfigMap cannot be written, and the remedy.
type refusal struct {
	reason, message string
	// requeueAfter is the time until the next try without a change; 0 means never.
	requeueAfter time.Duration
	// quiet is true if there is nothing to report.
	quiet bool
}

// overLimit returns the refusal of a ConfigMap that is not among the oldest of its namespace.
func overLimit(namespace string) *refusal {
	return &refusal{reason: reasonLimit, requeueAfter: refusedRetry, message: fmt.Sprintf(
		"namespace %s has more than %d ConfigMaps with the label %s; the trusted certificates are injected into the %d oldest only: "+
			"let several workloads mount one of them, and delete the others or remove their label; the operator retries every %v",
		namespace, maxPerNamespace, InjectLabel, maxPerNamespace, refusedRetry)}
}

// refusalOf returns the refusal for an error of the API server; nil if the error is not due to the ConfigMap, and a retry may help.
func refusalOf(err error) *refusal {
	remedy := "or remove the label " + InjectLabel + " from it"
	text := err.Error()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &refusal{quiet: true} // it is deleted or being deleted; a new one of that name causes an event
	case apierrors.IsInvalid(err) && strings.Contains(text, "immutable"):
		return &refusal{reason: reasonImmutable, message: "the ConfigMap is immutable, so that trusted certificates cannot be injected: recreate it without immutable, " + remedy}
	case apierrors.IsRequestEntityTooLargeError(err), apierrors.IsInvalid(err) && strings.Contains(text, "Too long"), strings.Contains(text, "request is too large"):
		return &refusal{reason: reasonTooLarge, message: fmt.Sprintf("with the trusted certificates the ConfigMap would have more than the %d bytes that one can have: move other keys to another ConfigMap, %s", cabundle.Limit, remedy)}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &refusal{reason: reasonRefused, requeueAfter: refusedRetry, message: fmt.Sprintf("the API server refuses the injection of the trusted certificates: %v; the operator retries every %v", err, refusedRetry)}
	}
	return nil
}
