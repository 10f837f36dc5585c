package egressrouter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// errDeleting reports that an object with a desired name belongs to an earlier router and is being deleted.
var errDeleting = errors.New("an object of an earlier router of this name is being deleted")

// nameTakenError reports that an object with a desired name exists and is not owned by the router.
type nameTakenError struct{ object *unstructured.Unstructured }

func (e *nameTakenError) Error() string {
	return fmt.Sprintf("%s %s exists and is not owned by this router; delete or rename one of them", e.object.GetKind(), e.object.GetName())
}

// converge applies the objects of a router and returns the state after that. Errors are those of the API server or the connection to it;
// problems that the router's author can solve are part of the state.
func (c *Controller) converge(ctx context.Context, r *networkv1.EgressRouter, w observation) (state, error) {
	s := state{Pods: w.pods, Deployment: deploymentIn(w, r)}
	if s.Invalid = Validate(&r.Spec); len(s.Invalid) > 0 {
		return s, nil
	}
	s.Wanted = attachmentsOf(r)
	var err error
	if s.AttachFailure, err = c.attachFailure(ctx, w.pods); err != nil {
		return s, err
	}
	if s.Problem, err = c.addressInUse(ctx, r); err != nil || s.Problem != nil {
		return s, err
	}
	switch {
	case c.Image == "":
		s.Problem = noImage
		return s, nil
	case !w.multus:
		s.Waiting = waitForMultus
		return s, nil
	}
	wanted, err := objects(r, w.settings)
	if err != nil {
		return s, fmt.Errorf("render egress router: %w", err)
	}
	for _, o := range wanted {
		live, err := c.ensure(ctx, r, o, w.live[keyOf(o)])
		if err != nil {
			err = s.recordProblem(err)
			return s, err
		}
		if o.GetKind() == kindDeployment.Kind {
			s.Deployment = decodeDeployment(live)
		}
	}
	if err := c.prune(ctx, r, wanted, w); err != nil {
		return s, err
	}
	return s, c.deleteFixedNames(ctx, r, wanted)
}

// recordProblem stores an error that the router's author can solve in s, and returns all others.
func (s *state) recordProblem(err error) error {
	if taken, ok := errors.AsType[*nameTakenError](err); ok {
		s.Problem = &cause{"NameTaken", taken.Error()}
		return nil
	}
	switch {
	case errors.Is(err, errDeleting):
		s.Waiting = &cause{"Replacing", err.Error()}
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		s.Waiting = &cause{"NamespaceTerminating", "the namespace is being deleted"}
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		s.Problem = &cause{"ApplyFailed", err.Error()}
		return nil
	}
	return err
}

// ensure applies an object if it differs from live, and returns the result. live is nil if the cache has no such object.
func (c *Controller) ensure(ctx context.Context, r *networkv1.EgressRouter, want, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	existing, err := c.lookup(ctx, want, live)
	if err != nil {
		return nil, err
	}
	if existing != nil {
		switch owner := ownershipOf(existing, r); {
		case owner == ownedByOther, owner == unowned && live == nil:
			return nil, &nameTakenError{want}
		case owner == ownedByPredecessor:
			if err := c.delete(ctx, r, want, existing.GetUID(), "of an earlier router of this name"); err != nil {
				return nil, err
			}
			return nil, errDeleting
		case existing.GetDeletionTimestamp() != nil:
			return nil, errDeleting
		}
	}
	var drift []string
	if live != nil {
		if drift = plan.Differences(want, live); drift == nil {
			return live, nil
		}
	}
	sent := want.DeepCopy()
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), fieldManager, client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", want.GetKind(), want.GetName(), err)
	}
	// With a stale cache the same apply is sent twice; only the first one is recorded.
	if versions := c.memoryOf(r).versions; versions[keyOf(want)] != sent.GetResourceVersion() {
		versions[keyOf(want)] = sent.GetResourceVersion()
		c.recordApplied(r, want, live, drift)
	}
	return sent, nil
}

// lookup returns the existing object with the name of want; nil if there is none. An object without the labels is in no cache, so the API
// server is asked.
func (c *Controller) lookup(ctx context.Context, want, live *unstructured.Unstructured) (metav1.Object, error) {
	if live != nil {
		return live, nil
	}
	existing, err := c.metadata(ctx, want)
	if existing == nil || err != nil {
		return nil, err
	}
	return existing, nil
}

// metadata reads the metadata of an object from the API server. It returns nil if the object does not exist.
func (c *Controller) metadata(ctx context.Context, o *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(o.GroupVersionKind())
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(o), m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return m, nil
}

// recordApplied records an event, a metric and a log line for an applied object.
func (c *Controller) recordApplied(r *networkv1.EgressRouter, want, live *unstructured.Unstructured, drift []string) {
	reason, note := "Updated", want.GetKind()+" "+want.GetName()
	switch {
	case live == nil:
		reason = "Created"
	case live.GetAnnotations()[manifest.AnnotationHash] == want.GetAnnotations()[manifest.AnnotationHash]:
		reason, note = "Repaired", note+" was modified by another client: "+strings.Join(drift, "; ")
	}
	c.event(r, corev1.EventTypeNormal, reason, note)
	c.Metrics.applied.WithLabelValues(strings.ToLower(reason)).Inc()
	c.Log.Info("applied", "namespace", r.Namespace, "router", r.Name, "kind", want.GetKind(), "name", want.GetName(), "why", drift)
}

// prune deletes the objects of the router, or of an earlier one of the same name, that are no longer wanted.
func (c *Controller) prune(ctx context.Context, r *networkv1.EgressRouter, wanted []*unstructured.Unstructured, w observation) error {
	keep := map[objectKey]bool{}
	for _, o := range wanted {
		keep[keyOf(o)] = true
	}
	for key, live := range w.live {
		owner := ownershipOf(live, r)
		if keep[key] || live.GetDeletionTimestamp() != nil || owner != owned && owner != ownedByPredecessor {
			continue
		}
		if err := c.delete(ctx, r, live, live.GetUID(), "no longer needed"); err != nil {
			return err
		}
	}
	return nil
}

// deleteFixedNames deletes the objects that OpenShift's operator created for the router under its fixed names. It runs once per router and
// process, after the objects that replace them exist.
func (c *Controller) deleteFixedNames(ctx context.Context, r *networkv1.EgressRouter, wanted []*unstructured.Unstructured) error {
	memory := c.memoryOf(r)
	if memory.fixedNamesChecked {
		return nil
	}
	keep := map[objectKey]bool{}
	for _, o := range wanted {
		keep[keyOf(o)] = true
	}
	// The pod is deleted before its attachment.
	deployment, attachment := &unstructured.Unstructured{}, newAttachment()
	deployment.SetGroupVersionKind(kindDeployment)
	deployment.SetName(fixedDeployment)
	attachment.SetName(fixedAttachment)
	for _, o := range []*unstructured.Unstructured{deployment, attachment} {
		o.SetNamespace(r.Namespace)
		if keep[keyOf(o)] {
			continue
		}
		existing, err := c.metadata(ctx, o)
		if err != nil {
			return err
		}
		if existing == nil || ownershipOf(existing, r) != owned {
			continue
		}
		if err := c.delete(ctx, r, o, existing.UID, "replaced by one with the router's name"); err != nil {
			return err
		}
	}
	memory.fixedNamesChecked = true
	return nil
}

// delete deletes the object with the given UID.
func (c *Controller) delete(ctx context.Context, r *networkv1.EgressRouter, o *unstructured.Unstructured, uid types.UID, why string) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
	object.SetGroupVersionKind(o.GroupVersionKind())
	err := c.client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	c.Metrics.applied.WithLabelValues("deleted").Inc()
	c.event(r, corev1.EventTypeNormal, "Deleted", fmt.Sprintf("%s %s, %s", o.GetKind(), o.GetName(), why))
	c.Log.Info("deleted", "namespace", r.Namespace, "router", r.Name, "kind", o.GetKind(), "name", o.GetName(), "why", why)
	return nil
}

// deploymentIn returns the router's Deployment; nil if there is none.
func deploymentIn(w observation, r *networkv1.EgressRouter) *appsv1.Deployment {
	u, ok := w.live[objectKey{kindDeployment.Kind, deploymentName(r.Name)}]
	if !ok || ownershipOf(u, r) != owned {
		return nil
	}
	return decodeDeployment(u)
}

// decodeDeployment returns nil if the content is not a Deployment, which the API server never sends.
func decodeDeployment(u *unstructured.Unstructured) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d) != nil {
		return nil
	}
	return d
}
