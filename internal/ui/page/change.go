package page

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/cluster-network-operator/cno/api/crds"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// networkCRD is the name of the CRD with the schema of the form.
const networkCRD = "networks.operator.openshift.io"

// ChangePage is the initial content of the page for changes of the network.
type ChangePage struct {
	// YAML is the current configuration: apiVersion, kind, metadata.name and spec. It is a sample if there is none.
	YAML string `json:"yaml"`
	// Exists is false if there is no network yet.
	Exists bool `json:"exists"`
	// Schema is that of spec, from the CRD of this program's version.
	Schema *apiextensionsv1.JSONSchemaProps `json:"schema"`
	// ShortForm is true while a NetworkConfig determines the Network: then that object must be changed instead.
	ShortForm bool `json:"shortForm,omitempty"`
}

// sample is the initial configuration of a new cluster; the user chooses the type.
const sample = `apiVersion: operator.openshift.io/v1
kind: Network
metadata:
  name: cluster
spec:
  clusterNetwork:
  - cidr: 10.244.0.0/16
    hostPrefix: 24
  serviceNetwork:
  - 10.96.0.0/16
  defaultNetwork:
    type: ""
`

// Change returns the page.
func (s Source) Change(ctx context.Context) (ChangePage, error) {
	page := ChangePage{YAML: sample}
	var err error
	if page.Schema, err = networkSchema(); err != nil {
		return page, err
	}
	var network operatorv1.Network
	switch err := s.Objects.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, &network); {
	case err == nil:
		page.Exists = true
		if page.YAML, err = configurationText(&network); err != nil {
			return page, err
		}
	case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return page, fmt.Errorf("read network: %w", err)
	}
	var short networkoperatorv1.NetworkConfig
	page.ShortForm = s.Objects.Get(ctx, client.ObjectKey{Name: networkoperatorv1.NetworkConfigName}, &short) == nil
	return page, nil
}

// configurationText returns the part of a network that users write.
func configurationText(n *operatorv1.Network) (string, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&n.Spec)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": operatorv1.GroupVersion.String(), "kind": "Network", "metadata": map[string]any{"name": n.Name}, "spec": spec,
	})
	return string(text), err
}

// networkSchema returns the schema of the specification of a Network.
func networkSchema() (*apiextensionsv1.JSONSchemaProps, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	for _, crd := range all {
		if crd.Name != networkCRD {
			continue
		}
		for _, v := range crd.Spec.Versions {
			if v.Storage && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
				if spec, ok := v.Schema.OpenAPIV3Schema.Properties["spec"]; ok {
					return &spec, nil
				}
			}
		}
	}
	return nil, errors.New("the CRD " + networkCRD + " has no schema of its specification")
}
