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

// apply applies an object. It retries while the API of a CRD of the same plan is not available on all API servers yet,
// although the CRD is established.
func (r *run) apply(ctx context.Context, obj *unstructured.Unstructured, waits waits) (*unstructured.Unstructured, error) {
	_, defined := waits.crdOf[obj.GroupVersionKind().GroupKind()]
	var live *unstructured.Unstructured
	err := r.poll(ctx, "to be served", func() (bool, error) {
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

// replace updates an object that server-side apply cannot make valid: another client has set a second source of a volume, or
// defaults of another strategy exist. It overwrites the top-level fields of the object and applies it again to restore the
// ownership of fields. Fields that others have added are lost, so that it is only the last resort.
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

func merged(existing, wanted map[string]string) map[string]string {
	all := maps.Clone(existing)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, wanted)
	return all
}

// poll calls done repeatedly until it returns true or an error, for at most SettleTimeout. what completes "wait for it".
func (r *run) poll(ctx context.Context, what string, done func() (bool, error)) error {
	deadline := time.NewTimer(r.SettleTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(settlePoll)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for it %s: %w", what, ctx.Err())
		case <-deadline.C:
			return fmt.Errorf("it took more than %s for it %s", r.SettleTimeout, what)
		case <-tick.C:
		}
	}
}

// storeInventory writes the inventory, which does not contain itself.
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
