package operator

import (
	"cmp"
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	hostnetwork "github.com/cluster-network-operator/cno/config/host-network"
	"github.com/cluster-network-operator/cno/internal/controller/addresspool"
	"github.com/cluster-network-operator/cno/internal/controller/allowlist"
	"github.com/cluster-network-operator/cno/internal/controller/connectivitycheck"
	"github.com/cluster-network-operator/cno/internal/controller/egressrouter"
	"github.com/cluster-network-operator/cno/internal/controller/furthernetworks"
	"github.com/cluster-network-operator/cno/internal/controller/hostnetworkconfig"
	"github.com/cluster-network-operator/cno/internal/controller/mtuprogress"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/controller/networkconfig"
	"github.com/cluster-network-operator/cno/internal/controller/nodemtu"
	"github.com/cluster-network-operator/cno/internal/controller/pullsecret"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// operatorImage is the environment variable that names the operator's own image, which the MTU probes run.
const operatorImage = facts.OperatorImage

// hostNetworkImage is the environment variable that names the image of the agent for HostNetworkConfigs.
const hostNetworkImage = "HOST_NETWORK_IMAGE"

// egressRouterImage is the environment variable that names the image of the pods of EgressRouters.
const egressRouterImage = "EGRESS_ROUTER_CNI_IMAGE"

// multusImage is the environment variable that names the image of Multus.
const multusImage = "MULTUS_IMAGE"

// loops lists all controllers.
func loops(s *shared) []loop.Spec {
	cached := s.manager.GetClient()
	rollout := &network.Controller{
		Client: cached, Live: s.manager.GetAPIReader(), Pods: podsIn(s.manager.GetCache()), Nodes: nodesIn(s.manager.GetCache()), Operands: s.operands, Applier: s.applier,
		Pipeline: pipeline.Pipeline{Registry: s.Registry, Log: s.Log}, Facts: s.Facts, Namespace: s.Namespace,
		Board: s.board, Changed: s.network, Events: events{s.manager.GetEventRecorder(network.Name)},
		Level: s.Level, Now: time.Now, Log: s.Log.With("controller", network.Name),
	}
	credentials := &pullsecret.Controller{
		Facts: cached, Namespace: s.Namespace, Namespaces: append([]string{nodereport.Namespace}, s.Registry.Operands().Names(nil)...), Exists: s.namespaceExists,
		Wake: &trigger.Trigger{}, Board: s.board, Log: s.Log.With("controller", pullsecret.Name),
	}
	rollout.PullSecret = credentials.Found
	workloads := &overrides{reader: cached, namespace: s.Namespace}
	s.operandChanged = func(spec bool) {
		if spec {
			credentials.Wake.Fire() // the object may be a namespace
		}
		rollout.OperandChanged(spec)
	}
	probe := &nodemtu.Controller{
		Client: cached, Nodes: nodesIn(s.manager.GetCache()), Namespace: s.Namespace, Image: s.Facts.Images[operatorImage], PullSecret: credentials.Found, Needed: needsHostMTU(s.Registry),
		Board: s.board, Now: time.Now, Log: s.Log.With("controller", nodemtu.Name),
	}
	migration := &mtuprogress.Controller{
		Client: cached, Live: s.manager.GetAPIReader(), Nodes: nodesIn(s.manager.GetCache()), Networks: mtuprogress.Reporters(s.Registry.Providers), Namespace: s.Namespace, Board: s.board,
	}
	short := &networkconfig.Controller{
		Client: cached, Namespace: s.Namespace, Now: time.Now, Log: s.Log.With("controller", networkconfig.Name),
	}
	hosts := &hostnetworkconfig.Controller{
		Client: cached, Live: s.manager.GetAPIReader(), Serves: s.serves, Image: s.Facts.Images[hostNetworkImage], PullSecret: credentials.Found, Units: hostnetwork.Files,
		APIServer: s.Facts.APIServer, Version: s.Facts.ReleaseVersion, Now: time.Now, Log: s.Log.With("controller", hostnetworkconfig.Name),
	}
	routers := &egressrouter.Controller{
		Live: s.manager.GetAPIReader(), Serves: s.serves, Image: s.Facts.Images[egressRouterImage], Workloads: workloads.get, Version: s.Facts.ReleaseVersion, Nodes: nodesIn(s.manager.GetCache()),
		Metrics: egressrouter.NewMetrics(metrics.Registry), Events: s.manager.GetEventRecorder(egressrouter.Name), Now: time.Now, Log: s.Log.With("controller", egressrouter.Name),
	}
	sysctls := &allowlist.Controller{
		Live: s.manager.GetAPIReader(), Applied: s.operands, Image: s.Facts.Images[multusImage], Workloads: workloads.get, Version: s.Facts.ReleaseVersion, Board: s.board,
		Events: s.manager.GetEventRecorder(allowlist.Name), Now: time.Now, Log: s.Log.With("controller", allowlist.Name),
	}
	addresses := &addresspool.Controller{
		Namespace: allowlist.Namespace, Enabled: workloads.servesFurtherNetworks, Nodes: nodesIn(s.manager.GetCache()), Metrics: addresspool.NewMetrics(metrics.Registry),
		Events: s.manager.GetEventRecorder(addresspool.Name), Now: time.Now, Log: s.Log.With("controller", addresspool.Name),
	}
	further := &furthernetworks.Controller{
		Namespace: finding.Namespace, Settings: workloads.multiNetwork, Metrics: furthernetworks.NewMetrics(metrics.Registry), Events: s.manager.GetEventRecorder(furthernetworks.Name),
		Log: s.Log.With("controller", furthernetworks.Name),
	}
	checks := &connectivitycheck.Controller{
		Serves: s.serves, Board: s.board, OnConfiguration: s.network.Fire, Metrics: connectivitycheck.NewMetrics(metrics.Registry), Now: time.Now, Log: s.Log.With("controller", connectivitycheck.Name),
	}
	rollout.OnApplied = func(spec *operatorv1.NetworkSpec) {
		workloads.set(spec)
		routers.EnqueueAll()
		sysctls.Wake.Fire()
		addresses.Wake.Fire()
		further.Wake.Fire()
	}
	credentials.Changed = func() {
		s.network.Fire()
		hosts.Wake.Fire()
	}
	s.board.OnStalled(s.network.Fire) // the network controller reconciles when the status controller reports a stalled rollout
	return slices.Concat(withMetrics(rollout.Specs(), network.NewMetrics, &rollout.Metrics), probe.Specs(), migration.Specs(), short.Specs(), hosts.Specs(), credentials.Specs(), routers.Specs(), sysctls.Specs(), addresses.Specs(), further.Specs(), checks.Specs(),
		statusLoops(s, checks), certificateLoops(s), configurationLoops(s, rollout), openShiftLoops(s), trustLoops(s), providerLoops(s))
}

// serves reports whether the API server serves a kind. It returns an error if the API server is unreachable.
func (s *shared) serves(gk schema.GroupKind) (bool, error) {
	_, err := s.mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// namespaceExists reports whether a namespace of the operator's workloads exists. That of sync agents is created with the operator.
func (s *shared) namespaceExists(name string) bool {
	_, exists := s.operands.Live(manifest.Key{Kind: "Namespace", Name: name})
	return exists || name == nodereport.Namespace
}

// needsHostMTU returns a function that reports whether the provider of a network computes its MTU from that of the nodes. Of a specification
// without a type, it is the default one.
func needsHostMTU(registry pipeline.Registry) func(*operatorv1.NetworkSpec) bool {
	return func(spec *operatorv1.NetworkSpec) bool {
		wanted := cmp.Or(spec.DefaultNetwork.Type, registry.DefaultType())
		for _, p := range registry.Providers {
			if t := p.Traits(); t.Type == wanted {
				return t.HostMTU && spec.ManagementState != osv1.Unmanaged
			}
		}
		return false
	}
}
