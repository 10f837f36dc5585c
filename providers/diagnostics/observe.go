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

// unserved is what the status says where there can be no checks.
const unserved = "The API server does not serve PodNetworkConnectivityCheck.controlplane.operator.openshift.io; connectivity is not checked. Apply config/crds to have it."

// Observe reads the cluster's configuration, which says whether and where to check, and looks whether there can be checks.
func (Component) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	seen := renderer{enabled: connectivity.Enabled(nil, spec.DisableNetworkDiagnostics), served: true}
	if r == nil {
		return seen, nil
	}
	said, err := configuration(ctx, r)
	if err != nil {
		return nil, err
	}
	if said != nil {
		seen.said, seen.enabled = *said, connectivity.Enabled(said, spec.DisableNetworkDiagnostics)
	}
	seen.served, err = serves(r, operatorcontrolplanev1alpha1.GroupVersion.WithKind("PodNetworkConnectivityCheck").GroupKind())
	return seen, err
}

// configuration returns what the cluster's configuration says of diagnostics, nil where there is none.
func configuration(ctx context.Context, r client.Reader) (*configv1.NetworkDiagnostics, error) {
	// A reader with a cache would wait for a kind that no one serves.
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

// serves reports whether the API server behind a reader serves a kind. A reader that cannot tell has it.
func serves(r client.Reader, gk schema.GroupKind) (bool, error) {
	c, tells := r.(interface{ RESTMapper() meta.RESTMapper })
	if !tells {
		return true, nil
	}
	_, err := c.RESTMapper().RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether %s is served: %w", gk, err)
	}
	return true, nil
}
