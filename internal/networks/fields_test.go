package networks

import (
	"fmt"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// notYet are the settings of types that cannot be installed in this version.
var notYet = []string{
	"spec.defaultNetwork.kuryrConfig", "spec.defaultNetwork.nuageConfig", "spec.defaultNetwork.contivConfig",
}

// definition is that of the Network.
func definition(t *testing.T) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile("../../api/crds/operator.openshift.io_networks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

func TestEveryFieldOfTheSpecificationHasAClass(t *testing.T) {
	crd := definition(t)
	classes := map[string]bool{}
	for _, f := range Registry().Fields("") {
		if f.Path == "" || f.Class == "" || f.Disruption == "" || f.Reason == "" {
			t.Errorf("%+v is incomplete", f)
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
		if !known[path] && !keyOfMap(path) {
			t.Errorf("%s has a class and is no field", path)
		}
	}
	others := 0
	for path := range classes {
		if strings.HasPrefix(path, "spec.defaultNetwork.ovnKubernetesConfig") || strings.HasPrefix(path, "spec.defaultNetwork.openshiftSDNConfig") {
			others++
		}
	}
	if got := Registry().Fields(operatorv1.NetworkTypeFlannel); len(got) != len(classes)-others || others == 0 {
		t.Errorf("%d fields of Flannel, want all %d but the %d of other networks", len(got), len(classes), others)
	}
}

// keyOfMap reports whether a path is that of an argument of kube-proxy, which the schema has as a map.
func keyOfMap(path string) bool {
	return strings.HasPrefix(path, "spec.kubeProxyConfig.proxyArguments.")
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

func TestExplainNamesTheClassOfEveryField(t *testing.T) {
	crd := definition(t)
	described := map[string]string{}
	collect("spec", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], described)
	for _, f := range Registry().Fields("") {
		if f.Path == "spec.defaultNetwork" || keyOfMap(f.Path) {
			continue // what is below it has classes of its own; a key of a map has no description
		}
		want := fmt.Sprintf("Change class: %s", f.Class)
		if f.Grows != "" {
			want += fmt.Sprintf("; %s where a pool grows (%s)", provider.Rolling, f.Grows)
		}
		if got := strings.Join(strings.Fields(described[f.Path]), " "); !strings.Contains(got, want) || !strings.Contains(got, "disruption: "+string(f.Disruption)) {
			t.Errorf("kubectl explain %s prints %q, want %q and disruption %s", f.Path, got, want, f.Disruption)
		}
	}
}

func collect(path string, s apiextensionsv1.JSONSchemaProps, into map[string]string) {
	into[path] = s.Description
	if s.Items != nil && s.Items.Schema != nil {
		s = *s.Items.Schema
	}
	for name, below := range s.Properties {
		collect(path+"."+name, below, into)
	}
}

func TestExplainNamesTheClassOfPoolsForEachType(t *testing.T) {
	for of, want := range map[operatorv1.NetworkType]string{
		"":                                  "Flannel, OVNKubernetes, third-party networks",
		"Calico":                            "Calico",
		operatorv1.NetworkTypeFlannel:       "Flannel",
		operatorv1.NetworkTypeOVNKubernetes: "OVNKubernetes",
		operatorv1.NetworkTypeKuryr:         "",
	} {
		for _, f := range Registry().Fields(of) {
			if f.Path == "spec.clusterNetwork.cidr" && (f.Grows != want || strings.Contains(f.Reason, "shorter prefix") != (want != "")) {
				t.Errorf("pools of type %q grow for %q, want %q: %s", of, f.Grows, want, f.Reason)
			}
		}
	}
}
