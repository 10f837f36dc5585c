package cabundleinjection

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/cluster-network-operator/cno/internal/cabundle"
)

// The reasons of events on ConfigMaps.
const (
	reasonImmutable = "CABundleImmutable"
	reasonTooLarge  = "CABundleTooLarge"
	reasonRefused   = "CABundleRefused"
	reasonContested = "CABundleContested"
	reasonRemoved   = "CABundleRemoved"
	reasonLimit     = "CABundleLimit"
)

// refusal is why a ConfigMap cannot be written, and what to do about it.
type refusal struct {
	reason, message string
	// again is when to try again although neither the ConfigMap nor the certificates have changed; 0 is never.
	again time.Duration
	// quiet is true if there is nothing to be done, and no one to tell.
	quiet bool
}

// overLimit is for a ConfigMap that is not among the oldest of its namespace.
func overLimit(namespace string) *refusal {
	return &refusal{reason: reasonLimit, again: refusedAgain, message: fmt.Sprintf(
		"namespace %s has more than %d ConfigMaps with the label %s; the trusted certificates are injected into the %d oldest only: "+
			"let several workloads mount one of them, and delete the others or remove their label; the operator retries every %v",
		namespace, perNamespace, InjectLabel, perNamespace, refusedAgain)}
}

// refusalOf reports what is the matter with a ConfigMap from the API server's answer; nil is that it is the matter of
// something else, and that trying again may help.
func refusalOf(err error) *refusal {
	wayOut := "or remove the label " + InjectLabel + " from it"
	text := err.Error()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &refusal{quiet: true} // it is gone, or going; if there is another one of that name, it is seen, too
	case apierrors.IsInvalid(err) && strings.Contains(text, "immutable"):
		return &refusal{reason: reasonImmutable, message: "the ConfigMap is immutable, so that trusted certificates cannot be injected: recreate it without immutable, " + wayOut}
	case apierrors.IsRequestEntityTooLargeError(err), apierrors.IsInvalid(err) && strings.Contains(text, "Too long"), strings.Contains(text, "request is too large"):
		return &refusal{reason: reasonTooLarge, message: fmt.Sprintf("with the trusted certificates the ConfigMap would have more than the %d bytes that one can have: move other keys to another ConfigMap, %s", cabundle.Limit, wayOut)}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &refusal{reason: reasonRefused, again: refusedAgain, message: fmt.Sprintf("the API server refuses the injection of the trusted certificates: %v; the operator retries every %v", err, refusedAgain)}
	}
	return nil
}
