package crds_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/api/crds"
	"github.com/cluster-network-operator/cno/internal/apitest"
)

func TestMain(m *testing.M) {
	definitions, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err)
	}
	apitest.Main(m, apitest.Options{CRDs: definitions})
}

const networkBase = `
apiVersion: operator.openshift.io/v1
kind: Network
metadata: {name: cluster}
spec:
  clusterNetwork: [{cidr: 10.244.0.0/16, hostPrefix: 24}]
  serviceNetwork: [10.96.0.0/16]
  defaultNetwork: {type: Flannel}
`

const networkConfigBase = `
apiVersion: networkoperator.openshift.io/v1
kind: NetworkConfig
metadata: {name: default}
spec:
  clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 9}]
  serviceNetwork: 172.30.0.0/16
  defaultNetwork: {type: OpenShiftSDN}
`

// object returns a base with a change merged into it. In the change, null removes a field.
func object(t *testing.T, base, change string) *unstructured.Unstructured {
	t.Helper()
	var into, from map[string]any
	if err := yaml.Unmarshal([]byte(base), &into); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(change), &from); err != nil {
		t.Fatal(err)
	}
	merge(into, from)
	return &unstructured.Unstructured{Object: into}
}

func merge(into, from map[string]any) {
	for key, value := range from {
		inner, isMap := value.(map[string]any)
		present, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			merge(present, inner)
		default:
			into[key] = value
		}
	}
}

// complaints asks the API server to create an object, without doing it, and returns what it objects to, each
// as "<field>: <message>", in order. A field that the server does not know fails the test.
func complaints(t *testing.T, o *unstructured.Unstructured) []string {
	t.Helper()
	c := client.WithFieldValidation(apitest.Shared(t).Client, metav1.FieldValidationStrict)
	err := c.Create(t.Context(), o, client.DryRunAll)
	if err == nil {
		return nil
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want an answer about the content", err)
	}
	texts := map[string]bool{}
	for _, cause := range status.ErrStatus.Details.Causes {
		texts[cause.Field+": "+cause.Message] = true
	}
	return slices.Sorted(maps.Keys(texts))
}
