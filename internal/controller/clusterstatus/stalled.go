package clusterstatus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/status"
)

// markStalled sets the annotation on wanted workloads whose rollout is stalled, and removes it from all others.
func (c *Controller) markStalled(ctx context.Context, rollout report.Rollout, d status.Decision) error {
	for _, w := range rollout.Wanted {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
		if err := c.Operands.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, u); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("read %s: %w", w, err)
			}
			continue
		}
		_, marked := u.GetAnnotations()[status.AnnotationHung]
		if stalled := slices.Contains(d.StalledWorkloads, status.Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}); stalled != marked {
			if err := c.mark(ctx, u, stalled); err != nil {
				return fmt.Errorf("mark %s: %w", w, err)
			}
		}
	}
	return nil
}

// mark sets or removes the annotation of one object with the given UID.
func (c *Controller) mark(ctx context.Context, u *unstructured.Unstructured, stalled bool) error {
	var value any
	if stalled {
		value = ""
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": u.GetUID(), "annotations": map[string]any{status.AnnotationHung: value}}})
	if err != nil {
		return err
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(u.GroupVersionKind())
	target.SetNamespace(u.GetNamespace())
	target.SetName(u.GetName())
	return client.IgnoreNotFound(c.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch), fieldManager))
}
