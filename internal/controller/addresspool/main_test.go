package addresspool

import (
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestMain(m *testing.M) {
	raw, err := os.ReadFile("../../multinet/whereabouts/testdata/crds.yaml")
	if err != nil {
		panic(err)
	}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		d := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(document), d); err != nil {
			panic(err)
		}
		definitions = append(definitions, d)
	}
	apitest.Main(m, apitest.Options{CRDs: definitions, OpenShift: []string{"network-attachment-definitions.k8s.cni.cncf.io"}, WithoutProjectCRDs: true})
}
