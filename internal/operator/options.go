package operator

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/proxyconfig"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// Options are the options of Run. Config, Namespace, Registry, Level and Log must be set.
type Options struct {
	// Config is the client configuration, with an address of the API server that does not depend on the network.
	Config *rest.Config
	// Namespace is that of the operator.
	Namespace string
	// Registry has the networks and components that can be installed.
	Registry pipeline.Registry
	// Facts are those that do not change while the operator runs: images, version, API server, platform.
	Facts facts.Cluster
	// ChooseAPIServer returns the API server for operands, as Remembered does. The operator calls it when it has acquired
	// the lease, since the previous holder may have chosen another one. It ends when the chosen API server becomes
	// unreachable. Nil means that of Facts.
	ChooseAPIServer func(context.Context) facts.HostPort
	// Proxy has the settings for the proxy of the cluster. Without TrustFiles, the system's CA bundle is searched for in the
	// usual paths of distributions.
	Proxy proxyconfig.Settings
	// MetricsAddress and HealthAddress are the addresses to listen on; empty means not to listen.
	MetricsAddress, HealthAddress string
	// Identity identifies this replica in the lease. A restarted process with the same identity continues immediately, so that
	// it must be unique among running processes, like the name of a pod. Empty means a generated unique one.
	Identity string
	// WithoutLease disables leader election, for tests and manual runs.
	WithoutLease bool
	// Lease is the timing of the lease; the zero value means the default. Tests that wait for a lease to expire set a shorter one.
	Lease LeaseTiming
	// NodeDelay is the time for which changes are batched before objects of nodes are written; 0 means the default. Tests that compare
	// everything that an operator writes set a shorter one.
	NodeDelay time.Duration
	// Level is the level of Log, which Network/cluster sets.
	Level *slog.LevelVar
	Log   *slog.Logger

	// loopsStop is the time that controllers may take to end; 0 means the constant.
	loopsStop time.Duration
}

// shared has the objects that controllers share.
type shared struct {
	Options
	// reach is Config with the operator's rate limits.
	reach   *rest.Config
	manager manager.Manager
	// withSecrets is the manager for controllers that read Secrets.
	withSecrets manager.Manager
	operands    *operands
	applier     apply.Client
	mapper      *restmapper.DeferredDiscoveryRESTMapper
	board       *report.Board
	// network and status trigger a reconcile of these controllers.
	network, status *trigger.Trigger
	// operandChanged is set once the network controller exists.
	operandChanged func(spec bool)
	// fence allows writes only while the operator holds the lease; nil without leader election.
	fence *fence
	// end stops the operator gracefully; Kubernetes restarts it.
	end func()
}

// changed notifies the controllers that an operand has changed.
func (s *shared) changed(spec bool) {
	s.status.Fire()
	if s.operandChanged != nil {
		s.operandChanged(spec)
	}
}
