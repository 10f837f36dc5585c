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

// poolsAnnotation is on DaemonSets: the cluster network that their pods know.
const poolsAnnotation = "networkoperator.openshift.io/cluster-network-cidr"

// observed is what rendering needs to know of the cluster: how far the two DaemonSets have been rolled out, and
// IPsec.
type observed struct {
	master, node operandorder.Set
	ipsec        ipsecState
	// told is what agents have of the MTU now; nil if there are none.
	told *mtumigration.State
}

// Observe reads how far the two DaemonSets have been rolled out, and what agents of IPsec report.
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
	told, err := observeMTU(ctx, r)
	if err != nil {
		return nil, err
	}
	return observed{master: sets[0], node: sets[1], ipsec: ipsec, told: told}, nil
}
