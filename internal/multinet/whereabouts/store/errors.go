package store

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unavailable is the error of a request that failed because the API server is unreachable or does not serve the kinds of whereabouts.
type Unavailable struct{ Err error }

func (e *Unavailable) Error() string {
	if kindNotServed(e.Err) {
		return fmt.Sprintf("the API server does not serve the kinds of %s (yet); addresses are assigned as soon as it does: %v", GroupVersion, e.Err)
	}
	return fmt.Sprintf("the API server, which has the addresses that are in use, does not answer; the request is repeated: %v", e.Err)
}

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// AsUnavailable returns a transient error as *Unavailable, and other errors unchanged.
func AsUnavailable(err error) error {
	if err == nil || !transient(err) {
		return err
	}
	return &Unavailable{Err: err}
}

// transient reports whether an error comes from the connection to the API server or its state, and not from the request.
func transient(err error) bool {
	if kindNotServed(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // no server has answered
	}
	code := status.Status().Code
	return code == 0 || code == 404 || code == 429 || code >= 500
}

// conflicting reports whether another client has changed or created the object.
func conflicting(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// kindNotServed reports whether the API server does not know the kind.
func kindNotServed(err error) bool {
	if _, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*meta.NoResourceMatchError](err); ok {
		return true
	}
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// isNotFound reports whether an object does not exist. An API that is not available is another error with the same code.
func isNotFound(err error) bool { return apierrors.IsNotFound(err) && !kindNotServed(err) }
