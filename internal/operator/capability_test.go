package operator

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestControllersStartWhenTheirCRDsAppear(t *testing.T) {
	c := newCluster(t, apitest.Options{WithoutProjectCRDs: true})
	c.start()
	own, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		c.create(crd)
	}
	network := newNetwork()
	c.eventually("the network can be created", func() bool { return c.Client.Create(t.Context(), network.DeepCopy()) == nil })
	c.rolledOut(1)
	c.eventually("and is installed", c.is("Available", osv1.ConditionTrue, "AsExpected"))

	c.create(clusterOperators())
	c.eventually("OpenShift's view is written when there is one", func() bool {
		operator := c.clusterOperator()
		for _, have := range operator.Status.Conditions {
			if have.Type == configv1.OperatorAvailable && have.Status == configv1.ConditionTrue {
				return len(operator.Status.Versions) == 2 && operator.Status.Versions[0] == (configv1.OperandVersion{Name: "operator", Version: "v1"}) && len(operator.Status.RelatedObjects) == 3
			}
		}
		return false
	})
}

// clusterOperator reads the ClusterOperator of the network.
func (c *cluster) clusterOperator() *configv1.ClusterOperator {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configv1.GroupVersion.WithKind("ClusterOperator"))
	operator := &configv1.ClusterOperator{}
	if c.Client.Get(c.t.Context(), client.ObjectKey{Name: "network"}, u) != nil {
		return operator
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, operator); err != nil {
		c.t.Fatal(err)
	}
	return operator
}

// clusterOperators defines the kind ClusterOperator as loosely as can be.
func clusterOperators() *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clusteroperators.config.openshift.io",
			Annotations: map[string]string{"api-approved.kubernetes.io": "https://github.com/openshift/api/pull/497"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: configv1.GroupName, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "clusteroperators", Kind: "ClusterOperator"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
}
