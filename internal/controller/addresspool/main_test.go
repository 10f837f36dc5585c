package addresspool

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// TestMain has the API server serve the kinds that the operator installs.
func TestMain(m *testing.M) {
	files, err := filepath.Glob("../../../providers/multus/assets/definitions/*.yaml")
	if err != nil || len(files) == 0 {
		panic("no CustomResourceDefinitions")
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(raw, d); err != nil {
			panic(err)
		}
		definitions = append(definitions, d)
	}
	apitest.Main(m, apitest.Options{CRDs: definitions, WithoutProjectCRDs: true})
}
