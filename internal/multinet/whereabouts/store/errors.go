package store

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unavailable is the error of a request that succeeds when the API server answers, or serves the kinds of whereabouts.
type Unavailable struct{ Err error }

func (e *Unavailable) Error() string {
	if unserved(e.Err) {
		return fmt.Sprintf("the API server does not serve the kinds of %s (yet); addresses are assigned as soon as it does: %v", GroupVersion, e.Err)
	}
	return fmt.Sprintf("the API server, which has the addresses that are in use, does not answer; the request is repeated: %v", e.Err)
}

// Unwrap returns the cause.
func (e *Unavailable) Unwrap() error { return e.Err }

// Passing returns an error that passes by repeating as *Unavailable, and others as they are.
func Passing(err error) error {
	if err == nil || !passing(err) {
		return err
	}
	return &Unavailable{Err: err}
}

// passing reports whether an error is one of the way to the API server, or of its state, and not of the request.
func passing(err error) bool {
	if unserved(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // no server has answered
	}
	code := status.Status().Code
	return code == 0 || code == 404 || code == 429 || code >= 500
}

// collided reports whether another client has changed or created an object meanwhile.
func collided(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// unserved reports whether the API server does not know the kind.
func unserved(err error) bool {
	if _, ok := errors.AsType[*meta.NoKindMatchError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*meta.NoResourceMatchError](err); ok {
		return true
	}
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// missing reports that an object does not exist. That its kind is not served is another error with the same code.
func missing(err error) bool { return apierrors.IsNotFound(err) && !unserved(err) }
