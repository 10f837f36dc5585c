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

// change is one write: of a wanted check that is missing (have is nil) or different, or of one that is not wanted.
type change struct {
	want *connectivity.Check
	have *check
}

// changes returns what has to be written for a plan, what is to be deleted first: it may be what others are named after.
func changes(plan []connectivity.Check, have map[string]*check) []change {
	var wrong []change
	wanted := make(map[string]bool, len(plan))
	for i := range plan {
		p := &plan[i]
		wanted[p.Name] = true
		live, exists := have[p.Name]
		switch {
		case !exists:
			wrong = append(wrong, change{want: p})
		case live.DeletionTimestamp == nil && !matches(p, live):
			wrong = append(wrong, change{want: p, have: live})
		}
	}
	var gone []change
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !wanted[name] && have[name].DeletionTimestamp == nil {
			gone = append(gone, change{have: have[name]})
		}
	}
	return append(gone, wrong...)
}

// matches reports whether a check is as planned. It has been trimmed: a label is there only if it is wrong.
func matches(p *connectivity.Check, live *check) bool {
	_, wrong := live.Labels[connectivity.SourceLabel]
	return live.Spec.SourcePod == p.SourcePod && live.Spec.TargetEndpoint == p.Target.Endpoint && !wrong &&
		len(live.OwnerReferences) == 1 && string(live.OwnerReferences[0].UID) == p.NodeUID
}

// object is the check as it is to be.
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

// write carries out as many changes as one pass may, and reports whether there are more. What has gone meanwhile, with its
// namespace or by the hand of a third party, is no error; the watch reports it.
func (c *Controller) write(ctx context.Context, todo []change) (more bool, err error) {
	var errs []error
	for _, ch := range todo[:min(len(todo), batch)] {
		if err := c.carryOut(ctx, ch); err != nil && !harmless(err) {
			errs = append(errs, err)
		}
	}
	if len(todo) > 0 {
		c.Log.Info("checks changed", "changes", min(len(todo), batch), "left", max(0, len(todo)-batch))
	}
	return len(todo) > batch, errors.Join(errs...)
}

func harmless(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, "NamespaceTerminating")
}

func (c *Controller) carryOut(ctx context.Context, ch change) error {
	switch {
	case ch.want == nil:
		if err := c.Client.Delete(ctx, &check{ObjectMeta: metav1.ObjectMeta{Namespace: ch.have.Namespace, Name: ch.have.Name}}); err != nil {
			return fmt.Errorf("delete check %s: %w", ch.have.Name, err)
		}
	case ch.have == nil:
		if err := c.Client.Create(ctx, object(ch.want), fieldManager); err != nil {
			return fmt.Errorf("create check %s: %w", ch.want.Name, err)
		}
	default:
		return c.patch(ctx, object(ch.want))
	}
	return nil
}

// patch sets everything but the status, which the source writes.
func (c *Controller) patch(ctx context.Context, wanted *check) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": wanted.Labels, "ownerReferences": wanted.OwnerReferences},
		"spec":     map[string]any{"sourcePod": wanted.Spec.SourcePod, "targetEndpoint": wanted.Spec.TargetEndpoint},
	})
	if err != nil {
		return fmt.Errorf("encode check %s: %w", wanted.Name, err)
	}
	if err := c.Client.Patch(ctx, wanted, client.RawPatch(types.MergePatchType, patch), fieldManager); err != nil {
		return fmt.Errorf("change check %s: %w", wanted.Name, err)
	}
	return nil
}
