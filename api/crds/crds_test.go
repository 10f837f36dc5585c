package crds_test

import (
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/crds"
)

func all(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	return definitions
}

func TestCRDsHaveAFixedOrder(t *testing.T) {
	var names []string
	for _, definition := range all(t) {
		names = append(names, definition.Name)
	}
	want := []string{"egressrouters.network.operator.openshift.io", "hostnetworkconfigs.network.operator.openshift.io", "operatorpkis.network.operator.openshift.io", "networkcomponents.networkoperator.openshift.io", "networkconfigs.networkoperator.openshift.io", "networkguards.networkoperator.openshift.io", "networknodes.networkoperator.openshift.io", "networks.operator.openshift.io"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestCallersDoNotShareCRDs(t *testing.T) {
	all(t)[0].Name = "changed"
	if all(t)[0].Name == "changed" {
		t.Error("a change by one caller is seen by the next")
	}
}

// kubectl explain shows what is described. All that this project declares is; OpenShift's types have a few
// fields that are not.
func TestEveryFieldIsDescribed(t *testing.T) {
	ofOthers := []string{
		".metadata", // the API server fills it in
		".spec.defaultNetwork.ovnKubernetesConfig.hybridOverlayConfig.hybridClusterNetwork[].cidr",
		".spec.defaultNetwork.ovnKubernetesConfig.hybridOverlayConfig.hybridClusterNetwork[].hostPrefix",
		".status.conditions[].message",
		".status.conditions[].reason",
	}
	for _, definition := range all(t) {
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, path := range undescribed("", schema) {
			if !slices.Contains(ofOthers, path) {
				t.Errorf("%s: %s has no description", definition.Name, path)
			}
		}
	}
}

func undescribed(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	if schema.Description == "" {
		found = append(found, path)
	}
	for name, property := range schema.Properties {
		found = append(found, undescribed(path+"."+name, &property)...)
	}
	if schema.Items != nil && schema.Items.Schema.Type == "object" {
		for name, property := range schema.Items.Schema.Properties {
			found = append(found, undescribed(path+"[]."+name, &property)...)
		}
	}
	slices.Sort(found)
	return found
}

// config/ installs what the kustomization lists; the operator and the tests use what is embedded.
func TestKustomizationListsEveryCRD(t *testing.T) {
	content, err := os.ReadFile("kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		t.Fatal(err)
	}
	embedded, err := fs.Glob(crds.Files(), "*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(embedded, kustomization.Resources); diff != "" {
		t.Error(diff)
	}
}
