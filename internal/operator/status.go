package operator

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cluster-network-operator/cno/internal/controller/clusterstatus"
	"github.com/cluster-network-operator/cno/internal/controller/network"
)

// statusLoops lists the loops that publish how things stand.
func statusLoops(s *shared) []loop {
	publish := &clusterstatus.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Operands: s.operands, Board: s.board,
		Version: s.Facts.ReleaseVersion, Namespace: s.Namespace, Wake: s.status,
		Events: events{s.manager.GetEventRecorder(clusterstatus.Name)}, Now: time.Now, Log: s.Log.With("loop", clusterstatus.Name),
	}
	return []loop{
		{name: clusterstatus.Name, needs: []schema.GroupKind{kindNetwork}, setup: func(mgr manager.Manager) (err error) {
			if publish.Metrics, err = clusterstatus.NewMetrics(metrics.Registry); err != nil {
				return fmt.Errorf("register metrics of %s: %w", clusterstatus.Name, err)
			}
			return publish.Setup(mgr)
		}},
		{name: clusterstatus.Name + "/clusteroperator", needs: []schema.GroupKind{kindNetwork, kindClusterOperator},
			setup: publish.SetupClusterOperator, owns: clusterstatus.OwnsClusterOperator()},
	}
}

// setupNetwork sets the network's loop up, with its metrics, and has it look again when the status loop says that a
// rollout hangs.
func (s *shared) setupNetwork(c *network.Controller) func(manager.Manager) error {
	return func(mgr manager.Manager) (err error) {
		if c.Metrics, err = network.NewMetrics(metrics.Registry); err != nil {
			return fmt.Errorf("register metrics of %s: %w", network.Name, err)
		}
		s.board.OnHung(s.network.Fire)
		return c.Setup(mgr)
	}
}
