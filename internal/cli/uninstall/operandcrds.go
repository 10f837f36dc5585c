package uninstall

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/phrase"
)

// findOperandCRDs adds the CRDs that the operator installed for networks and components. One with objects in namespaces of users stays, since these objects
// are not the operator's to delete.
func (r *remover) findOperandCRDs(ctx context.Context, p *parts) error {
	found, err := r.list(ctx, definition(), "", func(o *unstructured.Unstructured) bool {
		return slices.Contains(r.operands.Definitions, o.GetName()) && o.GetLabels()[manifest.LabelManagedBy] == manifest.ManagedBy
	})
	if err != nil {
		return err
	}
	own := r.operands.Names(nil)
	for _, crd := range found {
		kind, err := r.Mapper.KindFor(schema.ParseGroupResource(crd.name).WithVersion(""))
		if meta.IsNoMatchError(err) {
			p.stays = append(p.stays, fmt.Sprintf("%s: the API server does not serve the kind, so that its objects are not known; the command kubectl delete crd %s deletes them, too", crd, crd.name))
			continue
		}
		if err != nil {
			return fmt.Errorf("find the kind of %s: %w", crd, err)
		}
		users, err := r.list(ctx, kind, "", func(o *unstructured.Unstructured) bool {
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
