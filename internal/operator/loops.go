package operator

import (
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/controller/allowlist"
	"github.com/cluster-network-operator/cno/internal/controller/connectivitycheck"
	"github.com/cluster-network-operator/cno/internal/controller/egressrouter"
	"github.com/cluster-network-operator/cno/internal/controller/hostnetworkconfig"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/controller/networkconfig"
	"github.com/cluster-network-operator/cno/internal/controller/nodemtu"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// operatorImage is the environment variable that names the operator's own image, which the MTU probes run.
const operatorImage = facts.OperatorImage

// hostNetworkImage is the environment variable that names the image of what runs on nodes for HostNetworkConfigs.
const hostNetworkImage = "HOST_NETWORK_IMAGE"

// egressRouterImage is the environment variable that names the image of the pods of EgressRouters.
const egressRouterImage = "EGRESS_ROUTER_CNI_IMAGE"

// multusImage is the environment variable that names the image of Multus.
const multusImage = "MULTUS_IMAGE"

// loop is one controller, and the kinds that the API server must serve before it can start.
type loop struct {
	name  string
	needs []schema.GroupKind
	setup func(manager.Manager) error
	// secrets is true for a loop that reads Secrets.
	secrets bool
	// owns are kinds that the loop reads from a cache of its own, with what it selects and keeps of them. All others come
	// from the cache that the loops share.
	owns map[client.Object]cache.ByObject
}

// The kinds that loops need and that are not part of Kubernetes.
var (
	kindNetwork         = schema.GroupKind{Group: operatorv1.GroupVersion.Group, Kind: "Network"}
	kindNetworkConfig   = schema.GroupKind{Group: networkoperatorv1.GroupVersion.Group, Kind: "NetworkConfig"}
	kindHostNetwork     = schema.GroupKind{Group: networkv1.GroupVersion.Group, Kind: "HostNetworkConfig"}
	kindClusterOperator = schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterOperator"}
)

// loops lists all controllers.
func loops(s *shared) []loop {
	cached := s.manager.GetClient()
	rollout := &network.Controller{
		Client: cached, Live: s.manager.GetAPIReader(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Operands: s.operands, Applier: s.applier,
		Pipeline: pipeline.Pipeline{Registry: s.Registry, Log: s.Log}, Facts: s.Facts, Namespace: s.Namespace,
		Board: s.board, Changed: s.network, Events: events{s.manager.GetEventRecorder(network.Name)},
		Level: s.Level, Now: time.Now, Log: s.Log.With("loop", network.Name),
	}
	s.operandChanged = rollout.OperandChanged
	probe := &nodemtu.Controller{
		Client: cached, Nodes: nodesIn(s.manager.GetCache()), Namespace: s.Namespace, Image: s.Facts.Images[operatorImage], Needed: needsHostMTU(s.Registry),
		Board: s.board, Now: time.Now, Log: s.Log.With("loop", nodemtu.Name),
	}
	short := &networkconfig.Controller{
		Client: cached, Namespace: s.Namespace, Now: time.Now, Log: s.Log.With("loop", networkconfig.Name),
	}
	hosts := &hostnetworkconfig.Controller{
		Client: cached, Live: s.manager.GetAPIReader(), Serves: s.serves, Image: s.Facts.Images[hostNetworkImage],
		APIServer: s.Facts.APIServer, Version: s.Facts.ReleaseVersion, Now: time.Now, Log: s.Log.With("loop", hostnetworkconfig.Name),
	}
	routers := &egressrouter.Controller{
		Live: s.manager.GetAPIReader(), Serves: s.serves, Image: s.Facts.Images[egressRouterImage], Version: s.Facts.ReleaseVersion, Nodes: nodesIn(s.manager.GetCache()),
		Metrics: egressrouter.NewMetrics(metrics.Registry), Events: s.manager.GetEventRecorder(egressrouter.Name), Now: time.Now, Log: s.Log.With("loop", egressrouter.Name),
	}
	sysctls := &allowlist.Controller{
		Live: s.manager.GetAPIReader(), Image: s.Facts.Images[multusImage], Version: s.Facts.ReleaseVersion, Board: s.board,
		Events: s.manager.GetEventRecorder(allowlist.Name), Now: time.Now, Log: s.Log.With("loop", allowlist.Name),
	}
	checks := &connectivitycheck.Controller{
		Serves: s.serves, Board: s.board, Metrics: connectivitycheck.NewMetrics(metrics.Registry), Now: time.Now, Log: s.Log.With("loop", connectivitycheck.Name),
	}
	others := slices.Concat(statusLoops(s), certificateLoops(s), configurationLoops(s, rollout), openShiftLoops(s), trustLoops(s), providerLoops(s))
	return append([]loop{
		{name: network.Name, needs: []schema.GroupKind{kindNetwork}, setup: s.setupNetwork(rollout)},
		{name: nodemtu.Name, needs: []schema.GroupKind{kindNetwork}, setup: probe.Setup},
		{name: networkconfig.Name, needs: []schema.GroupKind{kindNetwork, kindNetworkConfig}, setup: short.Setup},
		{name: hostnetworkconfig.Name, needs: []schema.GroupKind{kindHostNetwork}, setup: hosts.Setup},
		{name: egressrouter.Name, needs: []schema.GroupKind{egressrouter.Kind}, setup: routers.Setup, owns: egressrouter.Owns()},
		{name: egressrouter.Name + "/attachments", needs: []schema.GroupKind{egressrouter.Kind, egressrouter.KindAttachment},
			setup: routers.SetupAttachments, owns: egressrouter.OwnsAttachments()},
		{name: allowlist.Name, setup: sysctls.Setup, owns: allowlist.Owns()},
		{name: connectivitycheck.Name, needs: []schema.GroupKind{kindNetwork, connectivitycheck.Kind}, setup: checks.Setup, owns: connectivitycheck.Owns()},
		{name: connectivitycheck.Name + "/configuration", needs: connectivitycheck.ConfigurationKinds(),
			setup: func(mgr manager.Manager) error { return checks.SetupConfiguration(mgr, s.network.Fire) }},
	}, others...)
}

// serves reports whether the API server serves a kind. An API server that does not answer is another matter than one
// that says no.
func (s *shared) serves(gk schema.GroupKind) (bool, error) {
	_, err := s.mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// needsHostMTU reports whether a network's provider computes its MTU from that of the nodes.
func needsHostMTU(registry pipeline.Registry) func(*operatorv1.NetworkSpec) bool {
	return func(spec *operatorv1.NetworkSpec) bool {
		for _, p := range registry.Providers {
			if t := p.Traits(); t.Type == spec.DefaultNetwork.Type {
				return t.HostMTU && spec.ManagementState != osv1.Unmanaged
			}
		}
		return false
	}
}
