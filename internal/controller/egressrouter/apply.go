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

// errGoing says that something of an earlier router is being deleted, whose name is needed.
var errGoing = errors.New("an object of an earlier router of this name is being deleted")

// takenError says that a name is taken.
type takenError struct{ object *unstructured.Unstructured }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s %s exists and is not of this router; delete or rename one of them", e.object.GetKind(), e.object.GetName())
}

// converge makes the objects of a router what they should be, and returns what is known then. An error is one of the API server or the way
// to it; what a router's author can do something about is part of the state.
func (c *Controller) converge(ctx context.Context, r *networkv1.EgressRouter, w world) (state, error) {
	s := state{Pods: w.pods, Deployment: deploymentIn(w, r)}
	if s.Invalid = Validate(&r.Spec); len(s.Invalid) > 0 {
		return s, nil
	}
	s.Wanted = attachmentsOf(r)
	var err error
	if s.Refused, err = c.refusedOn(ctx, w.pods); err != nil {
		return s, err
	}
	if s.Trouble, err = c.addressInUse(ctx, r); err != nil || s.Trouble != nil {
		return s, err
	}
	switch {
	case c.Image == "":
		s.Trouble = noImage
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
		live, err := c.ensure(ctx, r, o, w.have[keyOf(o)])
		if err != nil {
			err = s.blame(err)
			return s, err
		}
		if o.GetKind() == kindDeployment.Kind {
			s.Deployment = decodeDeployment(live)
		}
	}
	if err := c.sweep(ctx, r, wanted, w); err != nil {
		return s, err
	}
	return s, c.replaceFixed(ctx, r, wanted)
}

// blame notes an error that the router's author can do something about, and returns all others.
func (s *state) blame(err error) error {
	if taken, ok := errors.AsType[*takenError](err); ok {
		s.Trouble = &trouble{"NameTaken", taken.Error()}
		return nil
	}
	switch {
	case errors.Is(err, errGoing):
		s.Waiting = &trouble{"Replacing", err.Error()}
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		s.Waiting = &trouble{"NamespaceTerminating", "the namespace is being deleted"}
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		s.Trouble = &trouble{"ApplyFailed", err.Error()}
		return nil
	}
	return err
}

// ensure makes an object what it should be, and returns it as it is then. have is nil if the cache knows of none.
func (c *Controller) ensure(ctx context.Context, r *networkv1.EgressRouter, want, have *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	there, err := c.look(ctx, want, have)
	if err != nil {
		return nil, err
	}
	if there != nil {
		switch belongs := whose(there, r); {
		case belongs == others, belongs == nobodys && have == nil:
			return nil, &takenError{want}
		case belongs == predecessors:
			if err := c.delete(ctx, r, want, there.GetUID(), "of an earlier router of this name"); err != nil {
				return nil, err
			}
			return nil, errGoing
		case there.GetDeletionTimestamp() != nil:
			return nil, errGoing
		}
	}
	var drift []string
	if have != nil {
		if drift = plan.Differences(want, have); drift == nil {
			return have, nil
		}
	}
	sent := want.DeepCopy()
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), fieldManager, client.ForceOwnership); err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", want.GetKind(), want.GetName(), err)
	}
	// A cache that is late shows what was done as if it were still to do.
	if versions := c.knownOf(r).versions; versions[keyOf(want)] != sent.GetResourceVersion() {
		versions[keyOf(want)] = sent.GetResourceVersion()
		c.tell(r, want, have, drift)
	}
	return sent, nil
}

// look returns what is known of an object that has the name of a wanted one. One that lacks the labels is in no cache.
func (c *Controller) look(ctx context.Context, want, have *unstructured.Unstructured) (metav1.Object, error) {
	if have != nil {
		return have, nil
	}
	there, err := c.metadata(ctx, want)
	if there == nil || err != nil {
		return nil, err
	}
	return there, nil
}

// metadata reads the metadata of an object past the caches, nil if there is none.
func (c *Controller) metadata(ctx context.Context, o *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(o.GroupVersionKind())
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(o), m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return m, nil
}

// tell makes an event of what was applied.
func (c *Controller) tell(r *networkv1.EgressRouter, want, have *unstructured.Unstructured, drift []string) {
	reason, note := "Updated", want.GetKind()+" "+want.GetName()
	switch {
	case have == nil:
		reason = "Created"
	case have.GetAnnotations()[manifest.AnnotationHash] == want.GetAnnotations()[manifest.AnnotationHash]:
		reason, note = "Repaired", note+" was modified by another client: "+strings.Join(drift, "; ")
	}
	c.event(r, corev1.EventTypeNormal, reason, note)
	c.Metrics.applied.WithLabelValues(strings.ToLower(reason)).Inc()
	c.Log.Info("applied", "namespace", r.Namespace, "router", r.Name, "kind", want.GetKind(), "name", want.GetName(), "why", drift)
}

// sweep deletes what was made of the router, or of an earlier one of the same name, and is not wanted any more.
func (c *Controller) sweep(ctx context.Context, r *networkv1.EgressRouter, wanted []*unstructured.Unstructured, w world) error {
	keep := map[objectKey]bool{}
	for _, o := range wanted {
		keep[keyOf(o)] = true
	}
	for key, have := range w.have {
		belongs := whose(have, r)
		if keep[key] || have.GetDeletionTimestamp() != nil || belongs != ours && belongs != predecessors {
			continue
		}
		if err := c.delete(ctx, r, have, have.GetUID(), "not needed any more"); err != nil {
			return err
		}
	}
	return nil
}

// replaceFixed deletes what OpenShift's operator has made of the router under names of its own, once a process: what is needed has
// another name, and is there.
func (c *Controller) replaceFixed(ctx context.Context, r *networkv1.EgressRouter, wanted []*unstructured.Unstructured) error {
	known := c.knownOf(r)
	if known.looked {
		return nil
	}
	keep := map[objectKey]bool{}
	for _, o := range wanted {
		keep[keyOf(o)] = true
	}
	// The pod goes before what it is attached to.
	deployment, attachment := &unstructured.Unstructured{}, newAttachment()
	deployment.SetGroupVersionKind(kindDeployment)
	deployment.SetName(fixedDeployment)
	attachment.SetName(fixedAttachment)
	for _, o := range []*unstructured.Unstructured{deployment, attachment} {
		o.SetNamespace(r.Namespace)
		if keep[keyOf(o)] {
			continue
		}
		there, err := c.metadata(ctx, o)
		if err != nil {
			return err
		}
		if there == nil || whose(there, r) != ours {
			continue
		}
		if err := c.delete(ctx, r, o, there.UID, "replaced by one with the router's name"); err != nil {
			return err
		}
	}
	known.looked = true
	return nil
}

// delete deletes exactly the object that was seen.
func (c *Controller) delete(ctx context.Context, r *networkv1.EgressRouter, o *unstructured.Unstructured, uid types.UID, why string) error {
	doomed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
	doomed.SetGroupVersionKind(o.GroupVersionKind())
	err := c.client.Delete(ctx, doomed, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	c.Metrics.applied.WithLabelValues("deleted").Inc()
	c.event(r, corev1.EventTypeNormal, "Deleted", fmt.Sprintf("%s %s, %s", o.GetKind(), o.GetName(), why))
	c.Log.Info("deleted", "namespace", r.Namespace, "router", r.Name, "kind", o.GetKind(), "name", o.GetName(), "why", why)
	return nil
}

// deploymentIn returns the router's Deployment, nil if there is none.
func deploymentIn(w world, r *networkv1.EgressRouter) *appsv1.Deployment {
	u, ok := w.have[objectKey{kindDeployment.Kind, deploymentName(r.Name)}]
	if !ok || whose(u, r) != ours {
		return nil
	}
	return decodeDeployment(u)
}

// decodeDeployment returns nil for what is no Deployment, which the API server does not send.
func decodeDeployment(u *unstructured.Unstructured) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d) != nil {
		return nil
	}
	return d
}
