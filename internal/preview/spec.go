package preview

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/applied"
)

// ErrNoNetwork is the error of Spec for a cluster without Network/cluster.
var ErrNoNetwork = errors.New("the cluster has no Network/cluster: the operator does not manage its network")

// Spec returns the applied specification with all defaults, or that of Network/cluster if the record cannot be read. It uses only
// Client and Namespace.
func (c Cluster) Spec(ctx context.Context) (*operatorv1.NetworkSpec, error) {
	if data, exists, err := c.data(ctx, applied.ConfigMapName); err == nil && exists {
		if spec := applied.SpecOf(data); spec != nil {
			return spec, nil
		}
	}
	network := &operatorv1.Network{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: operatorv1.NetworkName}, network)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, ErrNoNetwork
	case err != nil:
		return nil, fmt.Errorf("read network: %w", err)
	}
	return &network.Spec, nil
}
