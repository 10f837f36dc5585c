package uninstall

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// findOperandCRDs adds the CRDs that the operator installed for networks and components. One with objects in namespaces of users stays, since these objects
// are not the operator's to delete.
func (r *remover) findOperandCRDs(ctx context.Context, p *parts) error {
	var kinds []schema.GroupVersionKind
	found, err := r.list(ctx, definition(), "", func(o *unstructured.Unstructured) bool {
		if !slices.Contains(r.operands.Definitions, o.GetName()) || o.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy {
			return false
		}
		kinds = append(kinds, servedKind(o))
		return true
	})
	if err != nil {
		return err
	}
	own := r.operands.Names(nil)
	for i, crd := range found {
		users, err := r.list(ctx, kinds[i], "", func(o *unstructured.Unstructured) bool {
			return o.GetNamespace() != "" && !slices.Contains(own, o.GetNamespace()) && o.GetLabels()[manifest.LabelManagedBy] != manifest.ManagedBy
		})
		if err != nil {
			return err
		}
		if len(users) > 0 {
			p.stays = append(p.stays, fmt.Sprintf("%s: users have objects of the kind (%s), which the command kubectl delete crd %s would delete, too", crd, phrase.Names(names(users), maxNames), crd.name))
			continue
		}
		p.kinds = append(p.kinds, crd)
	}
	return nil
}

func names(objects []object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.namespace+"/"+o.name)
	}
	return out
}

// servedKind returns the kind of a CRD, in a version that the API server serves.
func servedKind(crd *unstructured.Unstructured) schema.GroupVersionKind {
	var out schema.GroupVersionKind
	out.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	out.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["served"] == true {
			out.Version, _ = version["name"].(string)
			break
		}
	}
	return out
}
