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

// Options are what Run works with. Config, Namespace, Registry, Level and Log must be set.
type Options struct {
	// Config reaches the API server, at an address that does not need the network.
	Config *rest.Config
	// Namespace is the operator's own.
	Namespace string
	// Registry is what can be installed.
	Registry pipeline.Registry
	// Facts that do not change while the operator runs: images, version, API server, platform.
	Facts facts.Cluster
	// ChooseAPIServer returns the API server that operands shall use, as Remembered does. The operator calls it when it gets
	// the lease, not before: the replica that had it may have chosen another one meanwhile. It ends when the API server that was
	// chosen stops answering. Nil takes the one of Facts in any case.
	ChooseAPIServer func(context.Context) facts.HostPort
	// Proxy is what affects the proxy of the cluster. Without TrustFiles, the system's authorities are looked for where
	// distributions have them.
	Proxy proxyconfig.Settings
	// MetricsAddress and HealthAddress are where to listen; empty is nowhere.
	MetricsAddress, HealthAddress string
	// Identity names this replica in the lease. One that is started again under its name goes on at once, so that no two
	// processes may run under one: the name of a pod is right. Empty is a name that no one else has.
	Identity string
	// WithoutLease starts to work at once, for tests and for people who run it by hand.
	WithoutLease bool
	// Lease is the timing of the lease; the zero value is the program's. Tests that wait for a lease to expire set a shorter one.
	Lease LeaseTiming
	// Level is that of Log, which Network/cluster sets.
	Level *slog.LevelVar
	Log   *slog.Logger

	// loopsStop is how long loops may take to end; 0 is the constant.
	loopsStop time.Duration
}

// shared is what the loops share.
type shared struct {
	Options
	// reach is Config with the limits of requests that the operator works with.
	reach   *rest.Config
	manager manager.Manager
	// withSecrets is the manager for loops that read Secrets.
	withSecrets manager.Manager
	operands    *operands
	applier     apply.Client
	mapper      *restmapper.DeferredDiscoveryRESTMapper
	board       *report.Board
	// network and status start a pass of these loops.
	network, status *trigger.Trigger
	// operandChanged is set once the network loop exists.
	operandChanged func(spec bool)
	// fence lets writes through only while the operator has the lease; nil without one.
	fence *fence
	// end ends the operator in order; Kubernetes starts it again.
	end func()
}

// changed tells the loops that an operand has changed.
func (s *shared) changed(spec bool) {
	s.status.Fire()
	if s.operandChanged != nil {
		s.operandChanged(spec)
	}
}
