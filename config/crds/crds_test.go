// Package crds holds the definitions that config/default installs in addition to those of this project's own kinds.
package crds

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/testing/openshift"
)

func TestConnectivityCheckCRDMatchesOpenShift(t *testing.T) {
	files, err := openshift.ModuleFiles(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := openshift.Definitions(files, "podnetworkconnectivitychecks.controlplane.operator.openshift.io")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile("controlplane.operator.openshift.io_podnetworkconnectivitychecks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ours apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &ours); err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, c := range ours.Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, c.Name)
	}
	if diff := cmp.Diff([]string{"Source", "Target", "Reachable", "Reason", "Since"}, columns); diff != "" {
		t.Errorf("columns: %s", diff)
	}
	ours.Spec.Versions[0].AdditionalPrinterColumns = upstream[0].Spec.Versions[0].AdditionalPrinterColumns
	if diff := cmp.Diff(upstream[0].Spec, ours.Spec); diff != "" {
		t.Errorf("copy the file of github.com/openshift/api (-) again (+):\n%s", diff)
	}
}
