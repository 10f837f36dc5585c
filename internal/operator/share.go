package operator

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/cluster-network-operator/cno/internal/controller/allowlist"
	"github.com/cluster-network-operator/cno/internal/controller/network"
	"github.com/cluster-network-operator/cno/internal/dayone/nodereport"
	"github.com/cluster-network-operator/cno/internal/report"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

// The rate limits of requests. The defaults of the library, 5 and 10, are too low: an installation sends about sixty
// requests in a fraction of a second, at most eight of them concurrently. The API server itself ensures fairness.
const (
	requestsPerSecond = 500
	requestsAtOnce    = 1000
)

// discoveryTimeout is the timeout of discovery requests.
const discoveryTimeout = 10 * time.Second

// The timeouts of the shutdown. Controllers have loopsStop to end; then the operator releases the lease, which takes at most
// renewDeadline if the API server is unreachable; and Run returns after stopLimit even if a goroutine does not end. That is
// less than the terminationGracePeriodSeconds of the pod, so that the lease is released before the process is killed.
const (
	loopsStop = 12 * time.Second
	stopLimit = loopsStop + renewDeadline + 2*time.Second
)

// share creates the objects that controllers share.
func share(ctx context.Context, o Options) (*shared, error) {
	o.Lease = o.Lease.orDefault()
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
	// Discovery requests have no deadline of their own: a server that accepts connections and never answers would block the
	// start.
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
	s.operands = newOperands(reach, cache.Options{HTTPClient: httpClient, Scheme: s.manager.GetScheme(), Mapper: s.mapper},
		&configMaps{cache: s.manager.GetCache(), namespaces: s.namespacesOfConfigMaps()}, s.changed)
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
		Cache:          cacheOptions(s.namespacesOfConfigMaps()),
		Client:         client.Options{Cache: &client.CacheOptions{}},
		Logger:         logr.FromSlogHandler(s.Log.Handler()),
		LeaderElection: !s.WithoutLease,
		// Only the label of leader_election_master_status uses it; the lock itself is set below.
		LeaderElectionID:                    leaseName,
		LeaderElectionReleaseOnCancel:       true,
		LeaderElectionResourceLockInterface: lock,
		LeaseDuration:                       &s.Lease.Duration,
		RenewDeadline:                       &s.Lease.RenewDeadline,
		RetryPeriod:                         &s.Lease.RetryPeriod,
		Metrics:                             s.metricsOptions(),
		HealthProbeBindAddress:              orNowhere(s.HealthAddress),
		GracefulShutdownTimeout:             &graceful,
		// Names of controllers are unique; a test runs several operators in one process.
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

// namespacesOfConfigMaps returns the namespaces whose ConfigMaps are all cached: that of the operator, those that are installed with it,
// that of the reports of nodes, and that of Multus, whose list of sysctls users edit.
func (s *shared) namespacesOfConfigMaps() []string {
	return append(s.Registry.Operands().Installed(), s.Namespace, nodereport.Namespace, allowlist.Namespace)
}
