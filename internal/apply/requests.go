package apply

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func (r *run) get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, r.RequestTimeout)
	defer cancel()
	return r.Client.Get(ctx, ref)
}

func (r *run) remove(ctx context.Context, ref Ref, uid types.UID, propagation metav1.DeletionPropagation) error {
	ctx, cancel := context.WithTimeout(ctx, r.RequestTimeout)
	defer cancel()
	return r.Client.Delete(ctx, ref, uid, propagation)
}

// apply applies an object. A kind that is defined by the same plan may not be served everywhere yet, although it is
// established: then it tries again.
func (r *run) apply(ctx context.Context, obj *unstructured.Unstructured, waits waits) (*unstructured.Unstructured, error) {
	_, defined := waits.crdOf[obj.GroupVersionKind().GroupKind()]
	var live *unstructured.Unstructured
	err := r.settle(ctx, "to be served", func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, r.RequestTimeout)
		defer cancel()
		var err error
		live, err = r.Client.Apply(ctx, obj)
		if defined && (meta.IsNoMatchError(err) || apierrors.IsNotFound(err)) {
			return false, nil
		}
		return err == nil, err
	})
	return live, err
}

// replace is for an object that does not become valid by merging: another source was written into a volume beside
// ours, or defaults of another strategy are there. It writes what is wanted in place of all that is there in the same
// field, and applies it again, so that it is owned as ever. What others have added is lost, hence only as a last resort.
func (r *run) replace(ctx context.Context, a plan.Action, refusal error) (*unstructured.Unstructured, error) {
	live, err := r.get(ctx, refOf(a))
	if err != nil {
		return nil, err
	}
	if live.GetUID() != a.UID {
		return nil, refusal
	}
	wanted := a.Wanted()
	for field, value := range wanted.Object {
		if field != "metadata" {
			live.Object[field] = value
		}
	}
	live.SetLabels(merged(live.GetLabels(), wanted.GetLabels()))
	live.SetAnnotations(merged(live.GetAnnotations(), wanted.GetAnnotations()))
	limited, cancel := context.WithTimeout(ctx, r.RequestTimeout)
	defer cancel()
	if err := r.Client.Replace(limited, live); err != nil {
		if apierrors.IsInvalid(err) {
			return nil, refusal
		}
		return nil, err
	}
	return r.apply(ctx, wanted, waits{})
}

func merged(there, wanted map[string]string) map[string]string {
	all := maps.Clone(there)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, wanted)
	return all
}

// settle asks repeatedly until the answer is yes or an error, for at most SettleTimeout.
func (r *run) settle(ctx context.Context, what string, ask func() (bool, error)) error {
	deadline := time.NewTimer(r.SettleTimeout)
	defer deadline.Stop()
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for {
		if settled, err := ask(); settled || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for it %s: %w", what, ctx.Err())
		case <-deadline.C:
			return fmt.Errorf("it took more than %s for it %s", r.SettleTimeout, what)
		case <-poll.C:
		}
	}
}

// storeInventory writes the inventory. It is an object like others, but not in itself.
func (r *run) storeInventory(ctx context.Context, inventory plan.Inventory) error {
	ctx, cancel := context.WithTimeout(ctx, r.RequestTimeout)
	defer cancel()
	_, err := r.Client.Apply(ctx, inventoryObject(r.Namespace, inventory.Data()))
	return err
}

func inventoryObject(namespace string, data map[string]string) *unstructured.Unstructured {
	content := map[string]any{}
	for k, v := range data {
		content[k] = v
	}
	ref := inventoryRef(namespace)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": ref.Kind, "data": content,
		"metadata": map[string]any{"name": ref.Name, "namespace": namespace, "labels": map[string]any{manifest.LabelManagedBy: manifest.ManagedBy}},
	}}
}
