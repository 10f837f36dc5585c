package connectivity

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/preview"
)

// enforcement describes what a network is expected to enforce.
type enforcement struct {
	// unenforced is the reason why scenarios with NetworkPolicies are skipped; empty if they are not.
	unenforced string
	// egress is true if egress rules are enforced as well.
	egress bool
	// isolation is the reason why pods of two namespaces cannot reach one another; empty if they can.
	isolation string
}

// enforcementOf returns the enforcement that the network of a specification declares.
func enforcementOf(registry pipeline.Registry, spec *operatorv1.NetworkSpec) enforcement {
	tracer := registry.Tracer(spec.DefaultNetwork.Type)
	if tracer == nil {
		return enforcement{unenforced: fmt.Sprintf("the operator does not know whether network %s enforces them", spec.DefaultNetwork.Type)}
	}
	carriage := tracer.Carries(spec)
	return enforcement{unenforced: carriage.Unenforced, isolation: carriage.Isolation, egress: registry.Traits(spec.DefaultNetwork.Type).Policies.Egress}
}

// enforcementIn returns the enforcement that the network of a cluster declares.
func enforcementIn(ctx context.Context, config *rest.Config, namespace string, registry pipeline.Registry) enforcement {
	cluster, err := preview.Open(config, namespace)
	if err == nil {
		var spec *operatorv1.NetworkSpec
		if spec, err = cluster.Spec(ctx); err == nil {
			return enforcementOf(registry, spec)
		}
	}
	return enforcement{unenforced: err.Error()}
}
