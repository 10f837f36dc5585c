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

// follow applies what is wanted unless the Network says it already, and returns the Network as it is then with
// the fields in which it still differs. A field that a third party has set is left to them: applying is not
// forced, so that the API server refuses it.
func (c *Controller) follow(ctx context.Context, config *networkoperatorv1.NetworkConfig, wanted *operatorv1.NetworkSpec, network *operatorv1.Network) (*operatorv1.Network, []string, error) {
	at := generations{config: config.Generation}
	if network != nil {
		at.network = network.Generation
		differences, err := networkconfig.Differences(wanted, &network.Spec)
		if err != nil || len(differences) == 0 && (acknowledged(config) == "" || acknowledged(config) == acknowledged(network)) || at == c.refused {
			return network, differences, err
		}
	}
	made, err := c.apply(ctx, config, wanted)
	switch {
	case apierrors.IsConflict(err) && network != nil:
		c.refused = at
		differences, err := networkconfig.Differences(wanted, &network.Spec)
		return network, differences, err
	case err != nil:
		return network, nil, fmt.Errorf("apply network: %w", err)
	}
	differences, err := networkconfig.Differences(wanted, &made.Spec)
	if len(differences) > 0 {
		c.refused = generations{config: config.Generation, network: made.Generation}
	}
	c.Log.Info("Network/cluster follows NetworkConfig/default", "generation", config.Generation)
	return made, differences, err
}

// apply applies the Network and returns it.
func (c *Controller) apply(ctx context.Context, config *networkoperatorv1.NetworkConfig, wanted *operatorv1.NetworkSpec) (*operatorv1.Network, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, err
	}
	// The short form does not have it, and Go writes it even when it says nothing.
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
	made := &operatorv1.Network{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, made); err != nil {
		return nil, err
	}
	return made, nil
}

// acknowledged returns the hash with which the user has acknowledged a change.
func acknowledged(o client.Object) string { return o.GetAnnotations()[pipeline.AcknowledgeAnnotation] }
