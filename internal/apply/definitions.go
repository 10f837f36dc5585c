package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// waits has the CRDs of a plan that other objects of the plan need.
type waits struct {
	crdOf map[schema.GroupKind]manifest.Key // by the kind that is defined
	crds  map[manifest.Key]bool             // those whose objects are written, so that they have to be established
}

func kindsToWaitFor(actions []plan.Action) waits {
	w := waits{crdOf: map[schema.GroupKind]manifest.Key{}, crds: map[manifest.Key]bool{}}
	for _, a := range actions {
		if a.Key.Kind == "CustomResourceDefinition" && a.Object.Object != nil {
			group, _, _ := unstructured.NestedString(a.Object.Object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(a.Object.Object.Object, "spec", "names", "kind")
			w.crdOf[schema.GroupKind{Group: group, Kind: kind}] = a.Key
		}
	}
	for _, a := range actions {
		if crd, ok := w.crdOf[a.Key.GroupKind()]; ok && a.Writes() {
			w.crds[crd] = true
		}
	}
	return w
}

// awaitEstablished waits until a CRD is established.
func (r *run) awaitEstablished(ctx context.Context, ref Ref, live *unstructured.Unstructured) error {
	return r.poll(ctx, "to be established", func() (bool, error) {
		if isEstablished(live) {
			return true, nil
		}
		var err error
		live, err = r.get(ctx, ref)
		return err == nil && isEstablished(live), err
	})
}

func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}
