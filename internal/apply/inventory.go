package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cluster-network-operator/cno/internal/plan"
)

func inventoryRef(namespace string) Ref {
	return Ref{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		NamespacedName:   types.NamespacedName{Namespace: namespace, Name: plan.InventoryName},
	}
}
