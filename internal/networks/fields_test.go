package networks

import (
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// notYet are the settings of types that cannot be installed in this version.
var notYet = []string{
	"spec.defaultNetwork.openshiftSDNConfig", "spec.defaultNetwork.ovnKubernetesConfig",
	"spec.defaultNetwork.kuryrConfig", "spec.defaultNetwork.nuageConfig", "spec.defaultNetwork.contivConfig",
}

func TestEveryFieldOfTheSpecificationHasAClass(t *testing.T) {
	raw, err := os.ReadFile("../../api/crds/operator.openshift.io_networks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	classes := map[string]bool{}
	for _, f := range Registry().Fields("") {
		if f.Path == "" || f.Class == "" || f.Disruption == "" || f.Reason == "" {
			t.Errorf("%+v does not say everything", f)
		}
		if classes[f.Path] {
			t.Errorf("%s has two classes", f.Path)
		}
		classes[f.Path] = true
	}
	known := map[string]bool{}
	walk("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], func(path string, leaf bool) {
		known[path] = true
		if leaf && !covered(classes, path) {
			t.Errorf("%s has no class", path)
		}
	})
	for path := range classes {
		if !known[path] {
			t.Errorf("%s has a class and is no field", path)
		}
	}
	if got := Registry().Fields(operatorv1.NetworkTypeFlannel); len(got) != len(classes) {
		t.Errorf("%d fields of Flannel, want all %d", len(got), len(classes))
	}
}

// covered reports whether a field, or one above it that is not the whole of the default network, has a class.
func covered(classes map[string]bool, path string) bool {
	for _, p := range notYet {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	for path != "spec" && path != "spec.defaultNetwork" {
		if classes[path] {
			return true
		}
		path = path[:strings.LastIndex(path, ".")]
	}
	return false
}

func walk(path string, s apiextensionsv1.JSONSchemaProps, visit func(path string, leaf bool)) {
	if s.Items != nil && s.Items.Schema != nil {
		s = *s.Items.Schema
	}
	visit(path, len(s.Properties) == 0)
	for name, below := range s.Properties {
		walk(path+"."+name, below, visit)
	}
}
