package openshift_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

func TestEveryKindHasItsCRD(t *testing.T) {
	files, err := openshift.ModuleFiles(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	names := openshift.Kinds()
	found, err := openshift.Definitions(files, names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, crd := range found {
		if crd.Name != names[i] || crd.Name != crd.Spec.Names.Plural+"."+crd.Spec.Group || len(crd.Spec.Versions) == 0 {
			t.Errorf("got %s (%s.%s) with %d versions for %s", crd.Name, crd.Spec.Names.Plural, crd.Spec.Group, len(crd.Spec.Versions), names[i])
		}
		if set := crd.Annotations["release.openshift.io/feature-set"]; set != "" && set != "Default" {
			t.Errorf("%s is that of the feature set %s", crd.Name, set)
		}
	}
}

func TestUnknownKindIsAnError(t *testing.T) {
	_, err := openshift.Definitions(fstest.MapFS{}, "unicorns.config.openshift.io")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}

func TestStableVersionIsPreferred(t *testing.T) {
	file := func(version string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("kind: CustomResourceDefinition\nmetadata:\n  name: things.a.io\nspec:\n  group: " + version + "\n")}
	}
	found, err := openshift.Definitions(fstest.MapFS{
		"a/v1/zz_generated.crd-manifests/01_things-Default.crd.yaml":      file("v1"),
		"a/v1alpha1/zz_generated.crd-manifests/01_things.crd.yaml":        file("v1alpha1"),
		"a/v1/zz_generated.crd-manifests/01_things-OKD.crd.yaml":          file("OKD"),
		"b/v1/zz_generated.crd-manifests/02_otherthings-Default.crd.yaml": file("other"),
	}, "things.a.io")
	if err != nil {
		t.Fatal(err)
	}
	if got := found[0].Spec.Group; got != "v1" {
		t.Errorf("got the definition of %s, want that of v1", got)
	}
}
