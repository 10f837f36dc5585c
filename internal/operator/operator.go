package operator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cluster-network-operator/cno/internal/apply"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/controller/proxyconfig"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// The limits of requests a second. The library's own, 5 and 10, are made for people. An install is some sixty
// requests that have to be over in a fraction of a second; eight at most are made at once, and the API server
// itself ensures that no one gets more than a fair share.
const (
	requestsPerSecond = 500
	requestsAtOnce    = 1000
)

// discoveryTimeout is how long the API server may take to say which kinds it serves.
const discoveryTimeout = 10 * time.Second

// How the operator stops. Its loops have loopsStop to end; then it releases the lease, which takes at most renewDeadline when
// the API server does not answer; and Run returns after stopLimit even if a goroutine does not end. That is less than the
// terminationGracePeriodSeconds of the pod, so that the lease is released before the process is killed.
const (
	loopsStop = 12 * time.Second
	stopLimit = loopsStop + renewDeadline + 2*time.Second
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
	// the lease, and ends if the answer is not that of Facts, which a replica has read when it began to wait. It also ends when
	// the API server of Facts stops answering. Nil takes the one of Facts in any case.
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

// Run runs the operator until the context ends, or until it has to start again because what it can only read then has
// changed: the TLS profile, or which API server answers. The error says why it stopped before; losing the lease is one.
func Run(ctx context.Context, o Options) error {
	if err := o.Registry.Check(); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	s, err := share(ctx, o)
	if err != nil {
		return err
	}
	s.end = end
	starter := &starter{shared: s, pending: loops(s)}
	if err := s.manager.Add(starter); err != nil {
		return fmt.Errorf("add starter of loops: %w", err)
	}
	if err := s.manager.Add(s.operands); err != nil {
		return fmt.Errorf("add cache of operands: %w", err)
	}
	if s.ChooseAPIServer != nil && At(s.Config, s.Facts.APIServer).Host != s.Config.Host {
		if err := s.manager.Add(newAddressWatch(s.Config, s.Facts.APIServer, s.end, s.Log.With("controller", "apiserver"))); err != nil {
			return fmt.Errorf("add watch over the API server of operands: %w", err)
		}
	}
	return endWithin(ctx, s.manager.Start, stopLimit)
}

// endWithin runs a function until it returns. After the end of the context it waits for the function at most for a limit.
func endWithin(ctx context.Context, run func(context.Context) error, limit time.Duration) error {
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var late <-chan time.Time
	for done := ctx.Done(); ; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("run: %w", err)
			}
			return nil
		case <-done:
			done, late = nil, time.After(limit)
		case <-late:
			return fmt.Errorf("the operator did not stop within %s", limit)
		}
	}
}

// share makes what the loops share.
func share(ctx context.Context, o Options) (*shared, error) {
	o.Lease = o.Lease.orProgram()
	s := &shared{Options: o, board: &report.Board{}, network: &trigger.Trigger{}, status: &trigger.Trigger{}}
	reach := rest.CopyConfig(o.Config)
	s.reach = reach
	reach.QPS, reach.Burst = requestsPerSecond, requestsAtOnce
	reach.UserAgent = "cluster-network-operator/" + o.Facts.ReleaseVersion
	if !o.WithoutLease {
		s.fence = newFence(o.Lease.stale())
		reach.Wrap(s.fence.wrap)
	}
	httpClient, err := rest.HTTPClientFor(reach)
	if err != nil {
		return nil, fmt.Errorf("create HTTP client: %w", err)
	}
	// The cache of what is served asks without a deadline of its own: a server that accepts and never answers would hold up
	// everything, the start above all.
	patience := rest.CopyConfig(reach)
	patience.Timeout = discoveryTimeout
	discoverer, err := discovery.NewDiscoveryClientForConfig(patience)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	s.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	s.Facts.TLS = s.tlsSettings(ctx)
	if s.manager, err = s.newManager(reach); err != nil {
		return nil, err
	}
	if s.withSecrets, err = withSecrets(s.manager, reach, append(s.Registry.Operands().Installed(), s.Namespace)); err != nil {
		return nil, err
	}
	s.operands = newOperands(reach, cache.Options{HTTPClient: httpClient, Scheme: s.manager.GetScheme(), Mapper: s.mapper}, s.changed)
	api, err := dynamic.NewForConfigAndClient(reach, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create dynamic client: %w", err)
	}
	s.applier = apply.NewClient(api, s.mapper, network.FieldManager)
	return s, nil
}

func (s *shared) newManager(api *rest.Config) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	lock, err := s.lock(api)
	if err != nil {
		return nil, err
	}
	graceful, yes := cmp.Or(s.loopsStop, loopsStop), true
	mgr, err := manager.New(api, manager.Options{
		Scheme:         scheme,
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return s.mapper, nil },
		Cache:          cacheOptions(append(s.Registry.Operands().Installed(), s.Namespace)),
		Client:         client.Options{Cache: &client.CacheOptions{}},
		Logger:         logr.FromSlogHandler(s.Log.Handler()),
		LeaderElection: !s.WithoutLease,
		// It is the label of leader_election_master_status: the lock itself is the one below.
		LeaderElectionID:                    leaseName,
		LeaderElectionReleaseOnCancel:       true,
		LeaderElectionResourceLockInterface: lock,
		LeaseDuration:                       &s.Lease.Duration,
		RenewDeadline:                       &s.Lease.RenewDeadline,
		RetryPeriod:                         &s.Lease.RetryPeriod,
		Metrics:                             s.metricsOptions(),
		HealthProbeBindAddress:              orNowhere(s.HealthAddress),
		GracefulShutdownTimeout:             &graceful,
		// Names are unique in loops; a test runs several operators in one process.
		Controller: config.Controller{SkipNameValidation: &yes},
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return mgr, nil
}

func orNowhere(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// changed tells the loops that an operand has changed.
func (s *shared) changed(spec bool) {
	s.status.Fire()
	if s.operandChanged != nil {
		s.operandChanged(spec)
	}
}
