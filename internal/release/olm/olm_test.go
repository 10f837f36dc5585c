package olm

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/release"
)

func testRelease() Release {
	digest := "sha256:" + strings.Repeat("a", 64)
	return Release{
		Images: release.Set{Prefix: "registry.example/net", Version: "v1.2.3-rc.1", Digests: map[string]string{
			Package: digest, MustGather: digest, "flannel": digest,
		}},
		Created: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Repository: "https://example.test/cno",
	}
}

func bundle(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := testRelease().Files()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var o map[string]any
		if err := yaml.UnmarshalStrict(content, &o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = o
	}
	return out
}

// kinds are those that OLM creates from a bundle, in addition to the ClusterServiceVersion.
var kinds = []string{"ClusterServiceVersion", "ClusterRole", "ConfigMap", "CustomResourceDefinition"}

// TestEveryObjectIsInTheBundleOrAPrerequisite accounts for all objects and permissions of the release.
func TestEveryObjectIsInTheBundleOrAPrerequisite(t *testing.T) {
	objects, err := release.Manifests(testRelease().Images, 2)
	if err != nil {
		t.Fatal(err)
	}
	prerequisites, err := testRelease().Prerequisites()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range prerequisites {
		names = append(names, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
		if slices.Contains(kinds, o.GetKind()) {
			t.Errorf("%s %s could be in the bundle", o.GetKind(), o.GetName())
		}
	}
	var rules int
	for name, o := range bundle(t) {
		u := unstructured.Unstructured{Object: o}
		if u.GetKind() == "" {
			continue
		}
		if !slices.Contains(kinds, u.GetKind()) {
			t.Errorf("%s: OLM does not create a %s", name, u.GetKind())
		}
		names = append(names, u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName())
		if u.GetKind() != "ClusterServiceVersion" {
			continue
		}
		for _, list := range []string{"permissions", "clusterPermissions"} {
			found, _, _ := unstructured.NestedSlice(o, "spec", "install", "spec", list)
			for _, p := range found {
				of, _ := p.(map[string]any)["rules"].([]any)
				rules += len(of)
			}
		}
	}
	bound, want := map[string]bool{}, 0
	for _, o := range objects {
		if binding(o) && isOperators(o) {
			role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			bound[o.GetNamespace()+"/"+role] = true
		}
	}
	for _, o := range objects {
		id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		switch {
		case (o.GetKind() == "Role" || o.GetKind() == "ClusterRole") && bound[o.GetNamespace()+"/"+o.GetName()]:
			list, _, _ := unstructured.NestedSlice(o.Object, "rules")
			want += len(list)
		case o.GetKind() == "Deployment", binding(o) && isOperators(o), id == "ServiceAccount "+Namespace+"/"+account:
		case o.GetKind() == "ConfigMap":
			if !slices.Contains(names, "ConfigMap /"+imagesName) {
				t.Error("the ConfigMap of images is missing")
			}
		case !slices.Contains(names, id):
			t.Errorf("%s is neither in the bundle nor a prerequisite", id)
		}
	}
	if rules != want || rules == 0 {
		t.Errorf("the ClusterServiceVersion has %d rules, the roles of the operator %d", rules, want)
	}
}

func TestTheClusterServiceVersionHasTheImagesOfTheRelease(t *testing.T) {
	csv := bundle(t)["manifests/cluster-network-operator.v1.2.3-rc.1_clusterserviceversion.yaml"]
	if csv == nil {
		t.Fatalf("there is no ClusterServiceVersion: %v", slices.Sorted(maps.Keys(bundle(t))))
	}
	content, err := yaml.Marshal(csv)
	if err != nil {
		t.Fatal(err)
	}
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, want := range []string{
		"operators.openshift.io/must-gather-image: registry.example/net/must-gather" + digest, "image: registry.example/net/cluster-network-operator" + digest,
		"image: registry.example/net/flannel" + digest, "createdAt: \"2030-01-02T03:04:05Z\"", "version: 1.2.3-rc.1", "name: " + imagesName + "\n",
	} {
		if !strings.Contains(string(content), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(content), release.DefaultPrefix) {
		t.Error("an image is not below the prefix")
	}
	if !strings.Contains(string(dockerfile()), "LABEL operators.operatorframework.io.bundle.package.v1="+Package+"\n") {
		t.Errorf("the bundle's image has no label of the package:\n%s", dockerfile())
	}
}
