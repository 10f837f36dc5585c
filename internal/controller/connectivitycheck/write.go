package connectivitycheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

// change is one write: a create (live is nil), an update, or a delete (desired is nil).
type change struct {
	desired *connectivity.Check
	live    *check
}

// changes returns the writes for a plan. Deletions are first, because their names may be needed again.
func changes(plan []connectivity.Check, live map[string]*check) []change {
	var updates []change
	wanted := make(map[string]bool, len(plan))
	for i := range plan {
		p := &plan[i]
		wanted[p.Name] = true
		existing, exists := live[p.Name]
		switch {
		case !exists:
			updates = append(updates, change{desired: p})
		case existing.DeletionTimestamp == nil && !matches(p, existing):
			updates = append(updates, change{desired: p, live: existing})
		}
	}
	var deletions []change
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if !wanted[name] && live[name].DeletionTimestamp == nil {
			deletions = append(deletions, change{live: live[name]})
		}
	}
	return append(deletions, updates...)
}

// matches reports whether a trimmed check is as planned. The label only exists if it is wrong.
func matches(p *connectivity.Check, live *check) bool {
	_, wrongLabel := live.Labels[connectivity.SourceLabel]
	return live.Spec.SourcePod == p.SourcePod && live.Spec.TargetEndpoint == p.Target.Endpoint && !wrongLabel &&
		len(live.OwnerReferences) == 1 && string(live.OwnerReferences[0].UID) == p.NodeUID
}

// object returns the object for a planned check.
func object(p *connectivity.Check) *check {
	return &check{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: connectivity.Namespace, Name: p.Name,
			Labels:          map[string]string{manifest.LabelManagedBy: manifest.ManagedBy, connectivity.SourceLabel: p.SourcePod},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: p.SourceNode, UID: types.UID(p.NodeUID)}},
		},
		Spec: operatorcontrolplanev1alpha1.PodNetworkConnectivityCheckSpec{SourcePod: p.SourcePod, TargetEndpoint: p.Target.Endpoint},
	}
}

// write carries out at most batch changes and reports whether there are more. Objects that were deleted or created in the meantime are no
// error, since the watch reports them.
func (c *Controller) write(ctx context.Context, todo []change) (more bool, err error) {
	var errs []error
	for _, ch := range todo[:min(len(todo), batch)] {
		if err := c.apply(ctx, ch); err != nil && !isIgnorable(err) {
			errs = append(errs, err)
		}
	}
	if len(todo) > 0 {
		c.Log.Info("updated checks", "changes", min(len(todo), batch), "left", max(0, len(todo)-batch))
	}
	return len(todo) > batch, errors.Join(errs...)
}

func isIgnorable(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, "NamespaceTerminating")
}

func (c *Controller) apply(ctx context.Context, ch change) error {
	switch {
	case ch.desired == nil:
		if err := c.Client.Delete(ctx, &check{ObjectMeta: metav1.ObjectMeta{Namespace: ch.live.Namespace, Name: ch.live.Name}}); err != nil {
			return fmt.Errorf("delete check %s: %w", ch.live.Name, err)
		}
	case ch.live == nil:
		if err := c.Client.Create(ctx, object(ch.desired), fieldManager); err != nil {
			return fmt.Errorf("create check %s: %w", ch.desired.Name, err)
		}
	default:
		return c.patch(ctx, object(ch.desired))
	}
	return nil
}

// patch sets everything except the status, which the source writes.
func (c *Controller) patch(ctx context.Context, wanted *check) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": wanted.Labels, "ownerReferences": wanted.OwnerReferences},
		"spec":     map[string]any{"sourcePod": wanted.Spec.SourcePod, "targetEndpoint": wanted.Spec.TargetEndpoint},
	})
	if err != nil {
		return fmt.Errorf("encode check %s: %w", wanted.Name, err)
	}
	if err := c.Client.Patch(ctx, wanted, client.RawPatch(types.MergePatchType, patch), fieldManager); err != nil {
		return fmt.Errorf("patch check %s: %w", wanted.Name, err)
	}
	return nil
}
