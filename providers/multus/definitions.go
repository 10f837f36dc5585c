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

// definitionNames are the names of the CRDs that the component comes with, sorted.
func definitionNames() []string {
	entries, err := assets.ReadDir("assets/definitions")
	if err != nil {
		panic(err) // assets are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return names
}

// addDefinitions adds the CRDs but for those that are not the operator's.
func addDefinitions(list *manifest.List, foreign map[string]bool) {
	for _, name := range definitionNames() {
		if !foreign[name] {
			manifest.AddAsset[apiextensionsv1.CustomResourceDefinition](list, "definitions/"+name, nil)
		}
	}
}

// foreignDefinitions returns which of the CRDs exist and are not the operator's: another component serves these APIs, which stay as they are.
func foreignDefinitions(ctx context.Context, r client.Reader) (map[string]bool, error) {
	foreign := map[string]bool{}
	for _, name := range definitionNames() {
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
