package ovnkubernetes

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/operandorder"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// poolsAnnotation is the annotation of DaemonSets with the cluster network that their pods use.
const poolsAnnotation = "networkoperator.openshift.io/cluster-network-cidr"

// observed is the cluster state that Render depends on.
type observed struct {
	master, node operandorder.Set
	ipsec        ipsecState
	// currentMTU is the MTU state of the agents' current configuration; nil if none exists.
	currentMTU *mtumigration.State
}

// Observe reads the rollout state of the DaemonSets, the reports of IPsec agents and the current MTU.
func (OVNKubernetes) Observe(ctx context.Context, r client.Reader, spec *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if r == nil {
		return observed{ipsec: ipsecState{fresh: true}}, nil
	}
	sets, err := operandorder.Read(ctx, r, agentconfig.Namespace, masterName, nodeName)
	if err != nil {
		return nil, err
	}
	ipsec, err := observeIPsec(ctx, r, wantsIPsec(spec))
	if err != nil {
		return nil, err
	}
	ipsec.fresh = !sets[1].Exists
	currentMTU, err := observeMTU(ctx, r)
	if err != nil {
		return nil, err
	}
	return observed{master: sets[0], node: sets[1], ipsec: ipsec, currentMTU: currentMTU}, nil
}
