package apply_test

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// readInventory returns the inventory that is stored in a namespace; nil if there is none.
func readInventory(ctx context.Context, c apply.Client, namespace string) (plan.Inventory, error) {
	stored, err := c.Get(ctx, apply.Ref{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, NamespacedName: types.NamespacedName{Namespace: namespace, Name: plan.InventoryName},
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	data, _, err := unstructured.NestedStringMap(stored.Object, "data")
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	return plan.DecodeInventory(data)
}
