package signer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// The Secret of the CA, which the controller of OperatorPKIs creates for the OperatorPKI "signer".
const (
	caNamespace = "openshift-ovn-kubernetes"
	caSecret    = "signer-ca"
)

// caRefresh is how long the CA, or its absence, is cached. The Secret is read by name, not watched, so that no permission to list Secrets
// is needed. A replaced CA stays trusted for much longer.
const caRefresh = 5 * time.Second

// caError reports that the CA is missing or invalid.
type caError struct {
	reason string
	err    error
}

func (e *caError) Error() string {
	return fmt.Sprintf("Secret %s/%s: %v", caNamespace, caSecret, e.err)
}

// Unwrap returns the cause.
func (e *caError) Unwrap() error { return e.err }

func isCAError(err error) bool {
	_, ok := errors.AsType[*caError](err)
	return ok
}

// caCache caches the CA. Its zero value is ready.
type caCache struct {
	mu    sync.Mutex
	until time.Time
	ca    *certs.CA
	err   error
}

// read returns the current CA.
func (a *caCache) read(ctx context.Context, from client.Reader, now time.Time) (*certs.CA, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.until) && now.After(a.until.Add(-caRefresh-time.Second)) {
		return a.ca, a.err
	}
	a.ca, a.err = readCA(ctx, from, now)
	a.until = now.Add(caRefresh)
	return a.ca, a.err
}

func readCA(ctx context.Context, from client.Reader, now time.Time) (*certs.CA, error) {
	var secret corev1.Secret
	if err := from.Get(ctx, client.ObjectKey{Namespace: caNamespace, Name: caSecret}, &secret); err != nil {
		return nil, &caError{"CAFailure", err}
	}
	ca, err := certs.ParseCA(certs.Pair{Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		reason := "CorruptCACert"
		if _, key := errors.AsType[*certs.KeyError](err); key {
			reason = "CorruptCAKey"
		}
		return nil, &caError{reason, err}
	}
	if until := ca.Certificate().NotAfter; !now.Before(until) {
		return nil, &caError{"CAFailure", fmt.Errorf("the CA certificate expired at %s", until.Format(time.RFC3339))}
	}
	return ca, nil
}
