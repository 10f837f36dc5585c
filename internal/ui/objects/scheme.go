package objects

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Scheme returns the types that pages are made of.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, operatorv1.AddToScheme, networkoperatorv1.AddToScheme, networkv1.AddToScheme, configv1.Install,
		operatorcontrolplanev1alpha1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("create scheme: %w", err)
		}
	}
	return scheme, nil
}
