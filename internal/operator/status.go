package operator

import (
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/clusterstatus"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// statusLoops lists the loops that publish how things stand.
func statusLoops(s *shared) []loop.Spec {
	publish := &clusterstatus.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Operands: s.operands, Board: s.board,
		Version: s.Facts.ReleaseVersion, Namespace: s.Namespace, Wake: s.status,
		Events: events{s.manager.GetEventRecorder(clusterstatus.Name)}, Now: time.Now, Log: s.Log.With("controller", clusterstatus.Name),
	}
	return withMetrics(publish.Specs(), clusterstatus.NewMetrics, &publish.Metrics)
}
