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

// The Secret of the authority, which the OperatorPKI "signer" makes.
const (
	authorityNamespace = "openshift-ovn-kubernetes"
	authoritySecret    = "signer-ca"
)

// lookAgain is how long the authority is remembered, or that there is none. It is read by its name, not watched, so that no
// right to list Secrets is needed. One that is replaced stays trusted for long after that.
const lookAgain = 5 * time.Second

// authorityError says why nothing can be signed at present.
type authorityError struct {
	reason string
	err    error
}

func (e *authorityError) Error() string {
	return fmt.Sprintf("Secret %s/%s: %v", authorityNamespace, authoritySecret, e.err)
}

// Unwrap returns the cause.
func (e *authorityError) Unwrap() error { return e.err }

func isAuthority(err error) bool {
	_, is := errors.AsType[*authorityError](err)
	return is
}

// authority remembers who signs. Its zero value is ready.
type authority struct {
	mu    sync.Mutex
	until time.Time
	signs *certs.Authority
	err   error
}

// read returns the authority that signs now.
func (a *authority) read(ctx context.Context, from client.Reader, now time.Time) (*certs.Authority, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.until) && now.After(a.until.Add(-lookAgain-time.Second)) {
		return a.signs, a.err
	}
	a.signs, a.err = readAuthority(ctx, from, now)
	a.until = now.Add(lookAgain)
	return a.signs, a.err
}

func readAuthority(ctx context.Context, from client.Reader, now time.Time) (*certs.Authority, error) {
	var secret corev1.Secret
	if err := from.Get(ctx, client.ObjectKey{Namespace: authorityNamespace, Name: authoritySecret}, &secret); err != nil {
		return nil, &authorityError{"CAFailure", err}
	}
	signs, err := certs.ParseAuthority(certs.Pair{Certificate: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]})
	if err != nil {
		reason := "CorruptCACert"
		if _, key := errors.AsType[*certs.KeyError](err); key {
			reason = "CorruptCAKey"
		}
		return nil, &authorityError{reason, err}
	}
	if until := signs.Certificate().NotAfter; !now.Before(until) {
		return nil, &authorityError{"CAFailure", fmt.Errorf("the authority expired at %s", until.Format(time.RFC3339))}
	}
	return signs, nil
}
