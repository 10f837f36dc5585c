package kubeproxy

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Observe reads nothing: all that kube-proxy needs is in the specification and among the facts.
func (Component) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	return renderer{}, nil
}
