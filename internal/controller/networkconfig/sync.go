package networkconfig

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/networkconfig"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// syncNetwork applies the wanted specification if the Network differs, and returns the resulting Network with the differing fields. The
// apply is not forced, so fields of other clients stay.
func (c *Controller) syncNetwork(ctx context.Context, config *networkoperatorv1.NetworkConfig, wanted *operatorv1.NetworkSpec, network *operatorv1.Network) (*operatorv1.Network, []string, error) {
	at := generations{config: config.Generation}
	if network != nil {
		at.network = network.Generation
		differences, err := networkconfig.Differences(wanted, &network.Spec)
		if err != nil || len(differences) == 0 && (acknowledged(config) == "" || acknowledged(config) == acknowledged(network)) || at == c.lastConflict {
			return network, differences, err
		}
	}
	result, err := c.apply(ctx, config, wanted)
	switch {
	case apierrors.IsConflict(err) && network != nil:
		c.lastConflict = at
		differences, err := networkconfig.Differences(wanted, &network.Spec)
		return network, differences, err
	case err != nil:
		return network, nil, fmt.Errorf("apply network: %w", err)
	}
	differences, err := networkconfig.Differences(wanted, &result.Spec)
	if len(differences) > 0 {
		c.lastConflict = generations{config: config.Generation, network: result.Generation}
	}
	c.Log.Info("applied NetworkConfig/default to Network/cluster", "generation", config.Generation)
	return result, differences, err
}

// apply applies the Network and returns it.
func (c *Controller) apply(ctx context.Context, config *networkoperatorv1.NetworkConfig, wanted *operatorv1.NetworkSpec) (*operatorv1.Network, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, err
	}
	// The short form does not have the field, and Go encodes its zero value.
	delete(spec, "disableNetworkDiagnostics")
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("Network"))
	u.SetName(operatorv1.NetworkName)
	if hash := acknowledged(config); hash != "" {
		u.SetAnnotations(map[string]string{pipeline.AcknowledgeAnnotation: hash})
	}
	if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldManager); err != nil {
		return nil, err
	}
	result := &operatorv1.Network{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, result); err != nil {
		return nil, err
	}
	return result, nil
}

// acknowledged returns the acknowledgement of the user.
func acknowledged(o client.Object) string { return o.GetAnnotations()[pipeline.AcknowledgeAnnotation] }
