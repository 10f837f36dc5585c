package packaging

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/release"
)

// sample returns the objects of a file below config.
func sample(t *testing.T, path ...string) []*unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "config"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := release.Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestFluxSample reads the sample with Flux's own types, and checks what it refers to.
func TestFluxSample(t *testing.T) {
	objects := sample(t, "flux", "network.yaml")
	sources, kustomizations := map[string]bool{}, map[string]kustomizev1.Kustomization{}
	for _, o := range objects {
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		strict := json.NewDecoder(bytes.NewReader(text))
		strict.DisallowUnknownFields()
		switch o.GroupVersionKind() {
		case sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind):
			var source sourcev1.GitRepository
			if err := strict.Decode(&source); err != nil {
				t.Error(err)
			}
			sources[source.Name] = true
		case kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind):
			var k kustomizev1.Kustomization
			if err := strict.Decode(&k); err != nil {
				t.Error(err)
			}
			if k.Spec.Prune {
				t.Errorf("%s deletes what is missing in the repository", k.Name)
			}
			if !sources[k.Spec.SourceRef.Name] {
				t.Errorf("%s has an unknown source", k.Name)
			}
			for _, d := range k.Spec.DependsOn {
				if _, found := kustomizations[d.Name]; !found {
					t.Errorf("%s depends on %s, which is not before it", k.Name, d.Name)
				}
			}
			kustomizations[k.Name] = k
		default:
			t.Errorf("%s is not of Flux", o.GroupVersionKind())
		}
	}
	checks := kustomizations["network"].Spec.HealthChecks
	if len(checks) != 1 || checks[0].Kind != "Network" || checks[0].Name != "cluster" || checks[0].APIVersion != "operator.openshift.io/v1" {
		t.Errorf("Flux waits for %v", checks)
	}
}

// TestKstatusOfNetworks computes with the library of Flux what docs/gitops.md states.
func TestKstatusOfNetworks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gitops.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why, object string
		want        status.Status
		documented  string
	}{
		{"a network that works", `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [
			{type: Ready, status: "True"}, {type: Reconciling, status: "False"}, {type: Stalled, status: "False"}]}}`, status.CurrentStatus, "matches its specification"},
		{"a change that is not observed yet", `{metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}}`,
			status.InProgressStatus, "has not observed the change yet"},
		{"a rollout", `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [
			{type: Ready, status: "False"}, {type: Reconciling, status: "True", message: 1 of 3}]}}`, status.InProgressStatus, "is being changed"},
		{"a refused edit", `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [
			{type: Ready, status: "False"}, {type: Reconciling, status: "False"}, {type: Stalled, status: "True", message: refused}]}}`, status.FailedStatus, "a refused edit"},
		{"a pause", `{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [
			{type: Ready, status: "True"}, {type: Upgradeable, status: "False", reason: Paused}]}}`, status.CurrentStatus, "is paused"},
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(row.object), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetAPIVersion("operator.openshift.io/v1")
		o.SetKind("Network")
		o.SetName("cluster")
		got, err := status.Compute(integers(o))
		if err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}
		if got.Status != row.want {
			t.Errorf("%s: %s %q, want %s", row.why, got.Status, got.Message, row.want)
		}
		found := false
		for line := range strings.SplitSeq(string(page), "\n") {
			found = found || strings.Contains(line, row.documented) && strings.Contains(line, "| `"+string(row.want)+"` |")
		}
		if !found {
			t.Errorf("docs/gitops.md does not have %s for %q", row.want, row.documented)
		}
	}
}

// integers makes generations of what YAML reads as floating-point numbers, as an API server sends them.
func integers(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, path := range [][]string{{"metadata", "generation"}, {"status", "observedGeneration"}} {
		if n, found, _ := unstructured.NestedFloat64(o.Object, path...); found {
			_ = unstructured.SetNestedField(o.Object, int64(n), path...)
		}
	}
	return o
}
