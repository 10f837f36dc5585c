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

// markHung gives workloads whose rollout hangs their annotation, and takes it from all others that are wanted.
func (c *Controller) markHung(ctx context.Context, rollout report.Rollout, d status.Decision) error {
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
		if hung := slices.Contains(d.Stuck, status.Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}); hung != marked {
			if err := c.mark(ctx, u, hung); err != nil {
				return fmt.Errorf("mark %s: %w", w, err)
			}
		}
	}
	return nil
}

// mark sets or removes the annotation of one object, which must still be the one that was looked at.
func (c *Controller) mark(ctx context.Context, u *unstructured.Unstructured, hung bool) error {
	var value any
	if hung {
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
