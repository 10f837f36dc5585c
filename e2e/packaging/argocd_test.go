package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// argoCD is the release of Argo CD that has the CRD, and argoCDSum the checksum of its Go module. Only the files of the module are used: its
// packages need the modules of an older Kubernetes.
const (
	argoCD    = "github.com/argoproj/argo-cd/v3@v3.5.7"
	argoCDSum = "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0="
)

// applicationCRD returns Argo CD's CRD of Applications. Its Go module is downloaded unless it is in the module cache.
func applicationCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", argoCD)
	// Outside of this project's modules, none of which requires Argo CD.
	download.Dir = t.TempDir()
	download.Stderr = os.Stderr
	out, err := download.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v: %s", argoCD, err, out)
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	if module.Sum != argoCDSum {
		t.Fatalf("the checksum of %s is %s, not %s", argoCD, module.Sum, argoCDSum)
	}
	content, err := os.ReadFile(filepath.Join(module.Dir, "manifests", "crds", "application-crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestArgoCDSample creates the sample on an API server that has Argo CD's own CRD.
func TestArgoCDSample(t *testing.T) {
	server := apitest.Shared(t)
	crd := applicationCRD(t)
	if _, err := envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
	server.DeleteAfter(t, crd)
	// It stays: an API server without controllers deletes no namespace.
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "argocd"}}); err != nil {
		t.Fatal(err)
	}
	applications := sample(t, "argocd", "application.yaml")
	if len(applications) != 2 {
		t.Fatalf("the sample has %d objects, not one for the operator and one for the Network", len(applications))
	}
	strict := client.WithFieldValidation(server.Client, metav1.FieldValidationStrict)
	for _, a := range applications {
		if err := strict.Create(t.Context(), a.DeepCopy(), client.DryRunAll); err != nil {
			t.Error(err)
		}
		if prune, found, err := unstructured.NestedBool(a.Object, "spec", "syncPolicy", "automated", "prune"); prune || !found || err != nil {
			t.Errorf("%s deletes what is missing in the repository, or does not state that it does not: %v", a.GetName(), err)
		}
	}
	for _, row := range []struct {
		why   string
		value any
		path  []string
		want  string
	}{
		{"a field that Argo CD does not have", true, []string{"spec", "syncPolicy", "automated", "selfheal"}, `unknown field "spec.syncPolicy.automated.selfheal"`},
		{"a value of another type", "no", []string{"spec", "syncPolicy", "automated", "prune"}, "must be of type boolean"},
		{"no cluster is named", nil, []string{"spec", "destination"}, "spec.destination: Required value"},
	} {
		a := applications[0].DeepCopy()
		if row.value == nil {
			unstructured.RemoveNestedField(a.Object, row.path...)
		} else if err := unstructured.SetNestedField(a.Object, row.value, row.path...); err != nil {
			t.Fatal(err)
		}
		if err := strict.Create(t.Context(), a, client.DryRunAll); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", row.why, err, row.want)
		}
	}
}
