package operator

import (
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/clusterstatus"
	"github.com/cluster-network-operator/cno/internal/controller/networkcomponent"
	"github.com/cluster-network-operator/cno/internal/controller/nodefight"
	"github.com/cluster-network-operator/cno/internal/controller/podaddress"
	"github.com/cluster-network-operator/cno/internal/loop"
)

// statusLoops lists the controllers that publish conditions, keep an object for each component, replace pods with outdated addresses, and read the reports of
// agents about fights on nodes.
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
	fights := &nodefight.Controller{Live: s.manager.GetAPIReader(), Nodes: nodesIn(s.manager.GetCache()), Board: s.board, Now: time.Now}
	components := &networkcomponent.Controller{Client: s.manager.GetClient(), Namespace: s.Namespace}
	return slices.Concat(withMetrics(publish.Specs(), clusterstatus.NewMetrics, &publish.Metrics), components.Specs(), addresses.Specs(), fights.Specs())
}
