package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cluster-network-operator/cno/internal/plan"
)

// Error is the error of an action, as a sentence with the object and the cause.
type Error struct {
	Action plan.Action
	Err    error
}

// errDependency is the cause for an object whose namespace or CRD could not be applied.
var errDependency = errors.New("it waits for its dependencies")

// errBlocked is the cause for an action that the plan has blocked.
var errBlocked = errors.New("nothing can be done about it now")

func newError(a plan.Action, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Action: a, Err: err}
}

func blocked(a plan.Action) error {
	if a.Verb != plan.Blocked {
		return nil
	}
	return newError(a, fmt.Errorf("%w: %s", errBlocked, strings.Join(a.Reasons, "; ")))
}

// Unwrap returns the error of the API server.
func (e *Error) Unwrap() error { return e.Err }

// Error returns the sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %s", verbs(e.Action.Verb), e.Action.Key, cause(e.Action, e.Err))
}

func verbs(v plan.Verb) string {
	if v == plan.Blocked {
		return "apply"
	}
	return string(v)
}

// The patterns of the name of the webhook or the policy in refusals by the API server.
var (
	deniedBy = regexp.MustCompile(`admission webhook "([^"]+)" denied the request`)
	failedIn = regexp.MustCompile(`failed calling webhook "([^"]+)"`)
)

// deniedByPolicy reports whether an admission policy refused a request; the policy chooses the status code.
func deniedByPolicy(err error) bool {
	return err != nil && strings.Contains(err.Error(), "AdmissionPolicy") && strings.Contains(err.Error(), "denied request")
}

// notPermitted reports whether no role lets the operator make a request.
func notPermitted(err error) bool {
	return apierrors.IsForbidden(err) && !deniedByPolicy(err) && !deniedBy.MatchString(err.Error())
}

// cause describes an error of the API server from the operator's view.
func cause(a plan.Action, err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, errDependency) || errors.Is(err, errBlocked):
		return text
	case deniedBy.MatchString(text):
		return fmt.Sprintf("the admission webhook %s, which is not the operator's, denied it: %s", deniedBy.FindStringSubmatch(text)[1], text)
	case failedIn.MatchString(text):
		return fmt.Sprintf("the admission webhook %s, which is not the operator's, did not answer: %s", failedIn.FindStringSubmatch(text)[1], text)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Sprintf("its namespace %s is being deleted; it is created again afterwards", a.Key.Namespace)
	case meta.IsNoMatchError(err):
		return fmt.Sprintf("the API server does not serve %s in version %s", a.Key.GroupKind(), a.Version)
	case deniedByPolicy(err):
		return "an admission policy denied it: " + text
	case apierrors.IsForbidden(err):
		return "the operator is not allowed to: " + text
	case apierrors.IsNotFound(err) && a.Key.Namespace != "":
		return fmt.Sprintf("there is no namespace %s, or its API is not available: %s", a.Key.Namespace, text)
	case apierrors.IsConflict(err):
		return "another client changed or replaced it at the same time: " + text
	case apierrors.IsInvalid(err):
		return "the API server does not accept it: " + text
	case errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err):
		return "the API server did not answer in time: " + text
	}
	return text
}
