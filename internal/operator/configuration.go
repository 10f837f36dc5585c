package operator

import (
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/clusterconfig"
	"github.com/cluster-network-operator/cno/internal/controller/infrastructureconfig"
	"github.com/cluster-network-operator/cno/internal/controller/ingressconfig"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// configurationDelay is how long changes that affect Network.config are batched: nodes are often added in groups.
const configurationDelay = 50 * time.Millisecond

// configurationLoops lists the controllers that synchronize OpenShift's configuration with that of this operator.
func configurationLoops(s *shared, rollout *network.Controller) []loop.Spec {
	config := &clusterconfig.Controller{
		Client: s.manager.GetClient(), Pipeline: rollout.Pipeline, Facts: rollout.Cluster, Serves: s.operands.Serves, Namespace: s.Namespace,
		Board: s.board, Wake: &trigger.Trigger{Delay: configurationDelay}, Events: s.manager.GetEventRecorder(clusterconfig.Name),
		Now: time.Now, Log: s.Log.With("controller", clusterconfig.Name),
	}
	routers := &ingressconfig.Controller{Board: s.board, Log: s.Log.With("controller", ingressconfig.Name)}
	infra := &infrastructureconfig.Controller{
		Client: s.manager.GetClient(), Board: s.board, Events: s.manager.GetEventRecorder(infrastructureconfig.Name), Log: s.Log.With("controller", infrastructureconfig.Name),
	}
	rollout.OnPlatform = config.Wake.Fire
	return slices.Concat(config.Specs(), routers.Specs(), infra.Specs())
}
