package diagnostics

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// unserved is the message if the API for checks is not available.
const unserved = "The API server does not serve PodNetworkConnectivityCheck.controlplane.operator.openshift.io; connectivity is not checked. Apply config/crds to have it."

// Observe reads the configuration of diagnostics, and whether the API for checks is available.
func (Component) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	seen := renderer{enabled: connectivity.Enabled(nil, spec.DisableNetworkDiagnostics), served: true}
	if r == nil {
		return seen, nil
	}
	configured, err := configuration(ctx, r)
	if err != nil {
		return nil, err
	}
	if configured != nil {
		seen.configured, seen.enabled = *configured, connectivity.Enabled(configured, spec.DisableNetworkDiagnostics)
	}
	seen.served, err = serves(r, operatorcontrolplanev1alpha1.GroupVersion.WithKind("PodNetworkConnectivityCheck").GroupKind())
	return seen, err
}

// configuration returns the diagnostics settings in the cluster's configuration; nil if there are none.
func configuration(ctx context.Context, r client.Reader) (*configv1.NetworkDiagnostics, error) {
	// A cached reader would wait for an unavailable API.
	if served, err := serves(r, configv1.GroupVersion.WithKind("Network").GroupKind()); !served || err != nil {
		return nil, err
	}
	var network configv1.Network
	if err := r.Get(ctx, client.ObjectKey{Name: "cluster"}, &network); err != nil {
		if client.IgnoreNotFound(err) == nil || meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read configuration of diagnostics: %w", err)
	}
	return &network.Spec.NetworkDiagnostics, nil
}

// serves reports whether a kind is available. It returns true if the reader does not report it.
func serves(r client.Reader, gk schema.GroupKind) (bool, error) {
	c, ok := r.(interface{ RESTMapper() meta.RESTMapper })
	if !ok {
		return true, nil
	}
	_, err := c.RESTMapper().RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check whether %s is available: %w", gk, err)
	}
	return true, nil
}
