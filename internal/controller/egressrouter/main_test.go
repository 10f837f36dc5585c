package egressrouter

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestMain(m *testing.M) {
	apitest.Main(m, apitest.Options{CRDs: []*apiextensionsv1.CustomResourceDefinition{multus()}})
}

// multus returns the definition that Multus brings. It panics if testdata has none, since there is no test yet to fail.
func multus() *apiextensionsv1.CustomResourceDefinition {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	content, err := os.ReadFile("testdata/network-attachment-definitions.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(content, definition)
	}
	if err != nil {
		panic(err)
	}
	return definition
}
