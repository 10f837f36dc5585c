package multus

import (
	"context"
	"fmt"
	"path"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

// crdNames returns the sorted names of the component's CRDs.
func crdNames() []string {
	entries, err := assets.ReadDir("assets/definitions")
	if err != nil {
		panic(err) // assets are embedded in the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// addCRDs adds the CRDs except those that the operator does not own.
func addCRDs(list *manifest.List, foreign map[string]bool) {
	for _, name := range crdNames() {
		if !foreign[name] {
			manifest.AddAsset[apiextensionsv1.CustomResourceDefinition](list, "definitions/"+name, nil)
		}
	}
}

// foreignCRDs returns the CRDs that exist and that the operator does not own: another component provides these APIs, and they are not changed.
func foreignCRDs(ctx context.Context, r client.Reader) (map[string]bool, error) {
	foreign := map[string]bool{}
	for _, name := range crdNames() {
		crd := &metav1.PartialObjectMetadata{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err := r.Get(ctx, client.ObjectKey{Name: name}, crd)
		// A user who previews a change may not be allowed to read CRDs.
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		foreign[name] = crd.Labels[manifest.LabelManagedBy] != manifest.ManagedBy
	}
	return foreign, nil
}
