package operator

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cluster-network-operator/cno/internal/controller/clusterconfig"
	"github.com/cluster-network-operator/cno/internal/controller/infrastructureconfig"
	"github.com/cluster-network-operator/cno/internal/controller/ingressconfig"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// settleConfiguration is how long changes that affect Network.config are collected: nodes come in groups.
const settleConfiguration = 50 * time.Millisecond

// configurationLoops are those that bring OpenShift's own configuration and this operator's in line.
func configurationLoops(s *shared, rollout *network.Controller) []loop {
	config := &clusterconfig.Controller{
		Client: s.manager.GetClient(), Pipeline: rollout.Pipeline, Facts: rollout.Cluster, Serves: s.operands.Serves, Namespace: s.Namespace,
		Board: s.board, Wake: &trigger.Trigger{Delay: settleConfiguration}, Events: s.manager.GetEventRecorder(clusterconfig.Name),
		Now: time.Now, Log: s.Log.With("loop", clusterconfig.Name),
	}
	routers := &ingressconfig.Controller{Board: s.board, Log: s.Log.With("loop", ingressconfig.Name)}
	infra := &infrastructureconfig.Controller{
		Client: s.manager.GetClient(), Board: s.board, Events: s.manager.GetEventRecorder(infrastructureconfig.Name), Log: s.Log.With("loop", infrastructureconfig.Name),
	}
	return []loop{
		{name: network.PlatformName, needs: []schema.GroupKind{kindNetwork, network.KindInfrastructure()},
			setup: func(mgr manager.Manager) error { return rollout.SetupPlatform(mgr, config.Wake.Fire) }},
		{name: clusterconfig.Name, needs: clusterconfig.Needs(), setup: config.Setup},
		{name: clusterconfig.FeaturesName, needs: clusterconfig.FeaturesNeeds(), setup: config.SetupFeatures},
		{name: ingressconfig.Name, needs: ingressconfig.Needs(), setup: routers.Setup, owns: ingressconfig.Owns()},
		{name: infrastructureconfig.Name, needs: infrastructureconfig.Needs(), setup: infra.Setup},
	}
}
