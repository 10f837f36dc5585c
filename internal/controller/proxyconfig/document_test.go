package proxyconfig

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/doctest"
	"github.com/cluster-network-operator/cno/internal/noproxy"
)

// TestExamplesInTheDocumentHaveTheirProblems checks that the API server accepts each Proxy of the controller's page, and that the
// controller reports exactly the problems on the page.
func TestExamplesInTheDocumentHaveTheirProblems(t *testing.T) {
	root, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := doctest.Blocks(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, block := range blocks {
		objects, err := block.Objects()
		if err != nil || !strings.HasSuffix(block.File, "/proxyconfig.md") {
			continue
		}
		for _, o := range objects {
			var proxy configv1.Proxy
			if o.GetKind() != "Proxy" {
				continue
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &proxy); err != nil {
				t.Fatalf("%s: %v", block, err)
			}
			if err := apitest.Shared(t).Client.Create(t.Context(), proxy.DeepCopy(), client.DryRunAll); err != nil {
				t.Errorf("%s: %v", block, err)
			}
			var got []string
			for _, e := range noproxy.Validate(&proxy.Spec) {
				got = append(got, e.Error())
			}
			if diff := cmp.Diff(block.Answer, got); diff != "" {
				t.Errorf("%s:\n%s", block, diff)
			}
			checked++
		}
	}
	if checked != 2 {
		t.Errorf("%d examples were checked", checked)
	}
}
