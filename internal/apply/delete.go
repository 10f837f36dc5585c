package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// notDeleted is the reason to keep an object for which the operator lacks the permissions.
const notDeleted = "the operator is not permitted to delete it; delete it manually if it is not needed"

// mayStay reports whether the error of a deletion is that the operator lacks the permission, and the object affects no node. After a
// downgrade, these are the CRDs and ConfigMaps of a newer release: roles restrict both by name.
func mayStay(a plan.Action, err error) bool {
	return notPermitted(err) && !manifest.IsWorkload(a.Key.GroupKind())
}

// delete deletes an object that is not rendered any more, or sets as to plan.Keep with the reason.
func (r *run) delete(ctx context.Context, a plan.Action, as *plan.Action) error {
	keep := func(why string) error {
		as.Verb, as.Reasons = plan.Keep, []string{why}
		return nil
	}
	if r.anyFailed() {
		return keep("it is deleted when everything that is wanted could be applied")
	}
	// Deleting a namespace or a CRD deletes other objects, so that the live object is read again; and an object that was
	// unknown when the plan was made may exist.
	if a.UID == "" || a.Key.Kind == "CustomResourceDefinition" {
		live, err := r.get(ctx, refOf(a))
		if isGone(err) {
			return r.gone(ctx, a)
		}
		if mayStay(a, err) {
			return keep(notDeleted)
		}
		if err != nil {
			return newError(a, err)
		}
		if live.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy || a.Adopted {
			return keep("it is not the operator's")
		}
		if inUse, err := r.inUse(ctx, a, live); inUse || err != nil {
			as.Verb, as.Reasons = plan.Keep, []string{plan.InUseReason(live)}
			return newError(a, err)
		}
		a.UID = live.GetUID()
	}
	err := r.remove(ctx, refOf(a), a.UID, metav1.DeletePropagationBackground)
	if mayStay(a, err) {
		return keep(notDeleted)
	}
	if err != nil && !isGone(err) {
		return newError(a, err)
	}
	return r.gone(ctx, a)
}

func (r *run) anyFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failed) > 0
}

func (r *run) gone(ctx context.Context, a plan.Action) error {
	r.mu.Lock()
	r.done[a.Key] = plan.Done{Deleted: true}
	r.mu.Unlock()
	r.Log.InfoContext(ctx, "deleted", "object", a.Key.String(), "why", a.Reasons)
	return nil
}

func (r *run) inUse(ctx context.Context, a plan.Action, live *unstructured.Unstructured) (bool, error) {
	if a.Key.Kind != "CustomResourceDefinition" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.RequestTimeout)
	defer cancel()
	return r.Client.InUse(ctx, live)
}

// isGone reports whether an error means that an object or its API does not exist.
func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
