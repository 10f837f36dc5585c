package operator

import (
	"slices"
	"time"

	"github.com/cluster-network-operator/cno/internal/controller/clusterstatus"
	"github.com/cluster-network-operator/cno/internal/controller/connectivitycheck"
	"github.com/cluster-network-operator/cno/internal/controller/networkcomponent"
	"github.com/cluster-network-operator/cno/internal/controller/networknode"
	"github.com/cluster-network-operator/cno/internal/controller/nodefight"
	"github.com/cluster-network-operator/cno/internal/controller/podaddress"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/nodestate"
)

// statusLoops lists the controllers that publish conditions, keep an object for each component and each node, replace pods with outdated addresses, and read the
// reports of agents about fights on nodes.
func statusLoops(s *shared, checks *connectivitycheck.Controller) []loop.Spec {
	publish := &clusterstatus.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Live: s.manager.GetAPIReader(), Operands: s.operands, Board: s.board,
		Version: s.Facts.ReleaseVersion, Namespace: s.Namespace, Wake: s.status,
		Events: events{s.manager.GetEventRecorder(clusterstatus.Name)}, Now: time.Now, Log: s.Log.With("controller", clusterstatus.Name),
	}
	addresses := &podaddress.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Operands: s.operands, Board: s.board,
		Events: events{s.manager.GetEventRecorder(podaddress.Name)}, Now: time.Now, Log: s.Log.With("controller", podaddress.Name),
	}
	objects := s.nodeObjects(checks)
	fights := &nodefight.Controller{Live: s.manager.GetAPIReader(), Nodes: nodesIn(s.manager.GetCache()), Board: s.board, OnFights: objects.SetFights, Now: time.Now}
	components := &networkcomponent.Controller{Client: s.manager.GetClient(), Namespace: s.Namespace}
	return slices.Concat(withMetrics(publish.Specs(), clusterstatus.NewMetrics, &publish.Metrics), components.Specs(), objects.Specs(), addresses.Specs(), fights.Specs())
}

// nodeObjects returns the controller of the objects of nodes, to which checks reports unreachable nodes.
func (s *shared) nodeObjects(checks *connectivitycheck.Controller) *networknode.Controller {
	operands := s.Registry.Operands()
	objects := &networknode.Controller{
		Client: s.manager.GetClient(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Namespace: s.Namespace, Namespaces: operands.Names(nil),
		Cluster: nodestate.Cluster{Agents: nodestate.AgentsOf(operands.Agents), Blocks: networks.Blocks}, Now: time.Now,
		Collect: s.NodeDelay,
	}
	checks.OnUnreachable = objects.SetUnreachable
	return objects
}
