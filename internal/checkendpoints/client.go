package checkendpoints

import (
	"fmt"

	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NewClient returns a client for checks only. It needs no discovery.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := operatorcontrolplanev1alpha1.Install(scheme); err != nil {
		return nil, fmt.Errorf("create scheme: %w", err)
	}
	version := operatorcontrolplanev1alpha1.GroupVersion
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(version.WithKind("PodNetworkConnectivityCheck"), version.WithResource("podnetworkconnectivitychecks"),
		version.WithResource("podnetworkconnectivitycheck"), meta.RESTScopeNamespace)
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return c, nil
}
