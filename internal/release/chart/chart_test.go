package chart

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/release"
)

func set() release.Set {
	return release.Set{Prefix: "registry.example/net", Version: "v1.2.3", Digests: map[string]string{"multus": "sha256:" + strings.Repeat("a", 64)}}
}

func chartFiles(t *testing.T, name string) map[string][]byte {
	t.Helper()
	files, err := Files(name, set())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestEveryObjectOfTheReleaseIsInTheChart excludes what the operator applies, too: both the operator and Helm would claim its labels.
func TestEveryObjectOfTheReleaseIsInTheChart(t *testing.T) {
	files := chartFiles(t, Operator)
	objects, err := release.Manifests(set(), 2)
	if err != nil {
		t.Fatal(err)
	}
	operands := networks.Registry().Operands().Installed()
	text := string(files["templates/manifests.yaml"]) + string(files["templates/deployment.yaml"]) + string(files["templates/images.yaml"])
	for _, o := range objects {
		name := o.GetName()
		if o.GetKind() == "ConfigMap" {
			name = configName
		}
		if !regexp.MustCompile(`(?m)^  name: ` + regexp.QuoteMeta(name) + `$`).MatchString(text) {
			if o.GetKind() != "Namespace" || !slices.Contains(operands, name) {
				t.Errorf("%s %s is not in a template", o.GetKind(), o.GetName())
			}
		}
	}
	for _, namespace := range operands {
		if regexp.MustCompile(`(?m)^  name(space)?: ` + regexp.QuoteMeta(namespace) + `$`).MatchString(text) {
			t.Errorf("namespace %s, or an object in it, is in a template", namespace)
		}
	}
	if strings.Contains(text, "@image@") || regexp.MustCompile(`@[a-zA-Z]+@`).MatchString(text) {
		t.Error("a place for a value is left")
	}
}

// TestDefaultsAreThoseOfTheManifests compares the values without a setting of the user with the Deployment of the release.
func TestDefaultsAreThoseOfTheManifests(t *testing.T) {
	for _, name := range Names() {
		files := chartFiles(t, name)
		values := map[string]any{}
		if err := yaml.UnmarshalStrict(files["values.yaml"], &values); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, files["values.yaml"])
		}
		schema := map[string]any{}
		if err := json.Unmarshal(files["values.schema.json"], &schema); err != nil {
			t.Fatal(err)
		}
		for _, v := range documented(schema, "", false) {
			var live any = values
			for field := range strings.SplitSeq(v.path, ".") {
				m, _ := live.(map[string]any)
				live = m[field]
			}
			want, _ := json.Marshal(v.standard)
			got, _ := json.Marshal(live)
			if diff := cmp.Diff(string(want), string(got)); diff != "" && !v.inner {
				t.Errorf("%s: %s: %s", name, v.path, diff)
			}
			// Two fields of OpenShift's own type hybridClusterNetwork have no description.
			if v.description == "" && !strings.Contains(v.path, ".hybridClusterNetwork[].") || !strings.Contains(string(files["README.md"]), "| `"+v.path+"` | ") {
				t.Errorf("%s: %s is not documented", name, v.path)
			}
		}
	}
}

func TestTheChartHasTheVersionOfTheRelease(t *testing.T) {
	for _, name := range Names() {
		chart := map[string]any{}
		if err := yaml.Unmarshal(chartFiles(t, name)["Chart.yaml"], &chart); err != nil {
			t.Fatal(err)
		}
		if chart["version"] != "1.2.3" || chart["appVersion"] != "v1.2.3" || chart["name"] != name {
			t.Errorf("%s: %v", name, chart)
		}
	}
	if _, err := Files("other", set()); err == nil {
		t.Error("a chart that does not exist is made")
	}
}

// Fields of objects and of the elements of lists are values too, at any depth.
func TestFieldsOfTheNetworkAreDocumented(t *testing.T) {
	readme := string(chartFiles(t, "cluster-network")["README.md"])
	for _, path := range []string{"annotations", "spec", "spec.clusterNetwork", "spec.clusterNetwork[].cidr", "spec.defaultNetwork.type", "spec.defaultNetwork.flannelConfig.backend", "spec.workloads[].name"} {
		if !strings.Contains(readme, "\n| `"+path+"` | ") {
			t.Errorf("%s is not documented", path)
		}
	}
}

// Artifact Hub reads the values of these annotations as YAML.
func TestArtifactHubHasTheImagesAndCRDs(t *testing.T) {
	for _, name := range Names() {
		var chart struct{ Annotations map[string]string }
		if err := yaml.Unmarshal(chartFiles(t, name)["Chart.yaml"], &chart); err != nil {
			t.Fatal(err)
		}
		if a := chart.Annotations; a["artifacthub.io/category"] != "networking" || a["artifacthub.io/license"] != "Apache-2.0" || (a["artifacthub.io/operator"] == "true") != (name == Operator) {
			t.Errorf("%s: %v", name, a)
		}
		if name != Operator {
			continue
		}
		found := map[string]string{}
		for annotation, field := range map[string]string{"images": "image", "crds": "kind"} {
			var list []map[string]string
			if err := yaml.UnmarshalStrict([]byte(chart.Annotations["artifacthub.io/"+annotation]), &list); err != nil {
				t.Fatalf("%s: %v", annotation, err)
			}
			for _, e := range list {
				found[e["name"]] = e[field]
			}
		}
		for name, want := range map[string]string{
			"multus": "registry.example/net/multus@sha256:" + strings.Repeat("a", 64), "must-gather": "registry.example/net/must-gather:v1.2.3", "networks.operator.openshift.io": "Network",
		} {
			if found[name] != want {
				t.Errorf("%s is %q, want %q", name, found[name], want)
			}
		}
	}
}
