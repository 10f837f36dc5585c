package operator

import (
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/clusterstatus"
	"github.com/cluster-network-operator/cno/internal/controller/podaddress"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// statusLoops lists the loops that publish how things stand, and the one that replaces pods with an address of the past.
func statusLoops(s *shared) []loop.Spec {
	publish := &clusterstatus.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Operands: s.operands, Board: s.board,
		Version: s.Facts.ReleaseVersion, Namespace: s.Namespace, Wake: s.status,
		Events: events{s.manager.GetEventRecorder(clusterstatus.Name)}, Now: time.Now, Log: s.Log.With("controller", clusterstatus.Name),
	}
	addresses := &podaddress.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Operands: s.operands, Board: s.board,
		Events: events{s.manager.GetEventRecorder(podaddress.Name)}, Now: time.Now, Log: s.Log.With("controller", podaddress.Name),
	}
	return append(withMetrics(publish.Specs(), clusterstatus.NewMetrics, &publish.Metrics), addresses.Specs()...)
}
