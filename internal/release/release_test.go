package release

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/testing/assets"
	"github.com/cluster-network-operator/cno/internal/version"
)

func byName(t *testing.T, objects []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, o := range objects {
		key := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if out[key] != nil {
			t.Errorf("%s appears twice", key)
		}
		out[key] = o.Object
	}
	return out
}

// kustomize returns what kubectl makes of a directory of config.
func kustomize(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	kubectl := filepath.Join(assets.Dir(t, "kubectl"), "kubectl")
	content, err := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join("../../config", dir)).Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v", err)
	}
	objects, err := Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	return byName(t, objects)
}

func TestManifestsAreThoseOfKustomize(t *testing.T) {
	for dir, replicas := range map[string]int64{"default": 2, "single-node": 1} {
		objects, err := Manifests(Set{Prefix: DefaultPrefix, Version: version.Default}, replicas)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(kustomize(t, dir), byName(t, objects)); diff != "" {
			t.Errorf("config/%s: %s", dir, diff)
		}
	}
}

func TestDependenciesAreAppliedFirst(t *testing.T) {
	objects, err := Manifests(Set{Prefix: DefaultPrefix, Version: "v1.0.0"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if first, last := objects[0].GetKind(), objects[len(objects)-1].GetKind(); first != "Namespace" || last != "Deployment" {
		t.Errorf("the first is a %s, the last a %s", first, last)
	}
	for _, o := range objects {
		if !slices.Contains(order, o.GroupVersionKind()) {
			t.Errorf("%s has no place in the order", o.GroupVersionKind())
		}
	}
}

func TestImagesAreNamedByDigestBelowAPrefix(t *testing.T) {
	variables, err := Variables()
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for i, image := range slices.Sorted(maps.Keys(variables)) {
		digests[image] = "sha256:" + strings.Repeat(string(rune('a'+i%6)), 64)
	}
	set := Set{Prefix: "registry.example:5000/net", Version: "v1.0.0", Digests: digests}
	objects, err := Manifests(set, 2)
	if err != nil {
		t.Fatal(err)
	}
	content, err := Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), DefaultPrefix) {
		t.Error("an image is not below the prefix")
	}
	for image, variable := range variables {
		if want := variable + ": registry.example:5000/net/" + image + "@" + digests[image] + "\n"; !strings.Contains(string(content), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if want := "image: " + set.Reference("cluster-network-operator") + "\n"; !strings.Contains(string(content), want) {
		t.Errorf("%q is missing", want)
	}
	again, err := Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byName(t, objects), byName(t, again)); diff != "" {
		t.Errorf("what is read is not what was written: %s", diff)
	}
}

func TestVersions(t *testing.T) {
	for text, ok := range map[string]bool{
		"v0.2.0": true, "v10.0.1": true, "v1.0.0-rc.1": true,
		"": false, "0.2.0": false, "v1": false, "v1.2": false, "v01.2.3": false, "v1.2.3+build": false, "v1.2.3-": false, "v1.2.3 ": false,
		"v1.2.3\n": false, "latest": false, "v1.2.3-" + strings.Repeat("a", 64): false, "v1.2.3; rm -rf": false,
	} {
		if err := CheckVersion(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPrefixes(t *testing.T) {
	for text, ok := range map[string]bool{
		"localhost/cno": true, "registry.example:5000/a/b": true, "quay.io/cno": true,
		"": false, "registry.example/cno/": false, "registry.example/Cno": false, "https://registry.example/cno": false,
		"registry.example/cno@sha256:0": false, "registry.example/c no": false,
	} {
		if err := CheckPrefix(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestLinkedDigestsRoundTrip(t *testing.T) {
	want := map[string]string{"a": "sha256:" + strings.Repeat("0", 64), "b": "sha256:" + strings.Repeat("f", 64)}
	_, value := LinkerValue(want)
	got, err := ParseDigests(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"a", "=sha256:" + strings.Repeat("0", 64), "a=sha256:0", "a=" + strings.Repeat("0", 64), ","} {
		if _, err := ParseDigests(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
