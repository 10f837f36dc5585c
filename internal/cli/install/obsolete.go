package install

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/admission"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/release"
)

// maxNames is the number of objects that a sentence names.
const maxNames = 5

// permanent are the kinds that an upgrade never deletes, because their objects hold those of users.
var permanent = []string{"Namespace", "CustomResourceDefinition"}

// obsolete returns the objects that another release installed and this one does not have, in the order in which to delete them. These
// objects have the labels of releases, and cno applied them: copies of users, and what Helm or OLM installed, are not among them.
func (a applier) obsolete(ctx context.Context, current []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	pairs, err := release.Labels()
	if err != nil {
		return nil, err
	}
	selector := metav1.ListOptions{LabelSelector: labels.FormatLabels(pairs)}
	var out []*unstructured.Unstructured
	for _, gvk := range release.Kinds() {
		if slices.Contains(permanent, gvk.Kind) {
			continue
		}
		mapping, err := a.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list, err := a.cluster.API.Resource(mapping.Resource).List(ctx, selector)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
		}
		for i := range list.Items {
			live := &list.Items[i]
			if appliedByCno(live) && !slices.ContainsFunc(current, func(o *unstructured.Unstructured) bool { return sameObject(o, live) }) {
				out = append(out, live)
			}
		}
	}
	release.Sort(out)
	slices.Reverse(out) // users of others go first
	return out, nil
}

// appliedByCno reports whether cno install or cno upgrade applied an object.
func appliedByCno(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == preview.FieldManager && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// sameObject reports whether two objects are versions of one.
func sameObject(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind().GroupKind() == b.GroupVersionKind().GroupKind() && client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
}

// remove deletes obsolete objects. The policy against deletions allows it for the annotation.
func (a applier) remove(ctx context.Context, obsolete []*unstructured.Unstructured) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, admission.AllowDeletion)
	for _, o := range obsolete {
		if _, err := fmt.Fprintf(a.out, "delete %s\n", label(o)); err != nil {
			return err
		}
		r, err := a.resource(o)
		if err != nil {
			return err
		}
		_, err = r.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: preview.FieldManager})
		if err == nil {
			uid := o.GetUID()
			background := metav1.DeletePropagationBackground
			err = r.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", label(o), err)
		}
	}
	return nil
}

// delete adds the deletion of obsolete objects to the output.
func (r *result) delete(obsolete []*unstructured.Unstructured) {
	for _, o := range obsolete {
		r.Objects = append(r.Objects, change{"delete", label(o)})
	}
}

// describe returns kind and name of objects.
func describe(objects []*unstructured.Unstructured) []string {
	out := make([]string, 0, len(objects))
	for _, o := range objects {
		out = append(out, label(o))
	}
	return out
}
