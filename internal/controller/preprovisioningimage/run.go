package preprovisioningimage

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cluster-network-operator/cno/internal/dayone/preprovisioning"
	"github.com/cluster-network-operator/cno/internal/leader"
	loops "github.com/cluster-network-operator/cno/internal/loop"
	"github.com/cluster-network-operator/cno/internal/objectevents"
	"github.com/cluster-network-operator/cno/internal/trigger"
)

const (
	// restartDelay is the delay before the controller restarts after an error.
	restartDelay = 10 * time.Second
	// syncTimeout is the maximum duration of the first list of images.
	syncTimeout = 30 * time.Second
	// firstRetry and lastRetry are the first and the maximum delay before a failed image is retried.
	firstRetry, lastRetry = time.Second, time.Minute
)

// Config is the configuration of Run. All fields are required.
type Config struct {
	Settings
	Kube   *rest.Config
	Server Server
	// LeaseNamespace is the namespace of the lease, Node the name of this replica in it.
	LeaseNamespace, Node string
	Metrics              prometheus.Registerer
	Now                  func() time.Time
	Log                  *slog.Logger
}

// Run runs until the context ends. If the API server is unreachable or does not serve PreprovisioningImages, served images stay available,
// and Run retries. It returns an error if the metrics are already registered.
func Run(ctx context.Context, c Config) error {
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	for ctx.Err() == nil {
		if err := run(ctx, c, m); err != nil && ctx.Err() == nil {
			c.Log.Error("PreprovisioningImages are not watched; served images stay available", "error", err, "retry", restartDelay.String())
		}
		select {
		case <-ctx.Done():
		case <-time.After(restartDelay):
		}
	}
	return nil
}

// run is one attempt.
func run(ctx context.Context, c Config, m *metrics) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kube, err := kubernetes.NewForConfig(c.Kube)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	mgr, err := newManager(c)
	if err != nil {
		return err
	}
	events, err := objectevents.New(ctx, kube, mgr.GetScheme(), Name, c.Log)
	if err != nil {
		return err
	}
	l := &loop{Settings: c.Settings, server: c.Server, api: mgr.GetClient(), live: mgr.GetAPIReader(), term: &term{}, events: events, metrics: m, now: c.Now, log: c.Log}
	wake := &trigger.Trigger{}
	image := &unstructured.Unstructured{}
	image.SetGroupVersionKind(preprovisioning.Kind)
	if err := loops.Add(mgr, Name, l.reconcile, loops.Options{FirstRetry: firstRetry, LastRetry: lastRetry},
		loops.On(mgr, image, &handler.EnqueueRequestForObject{}), wake.Source()); err != nil {
		return err
	}
	elected := make(chan struct{})
	go func() {
		defer close(elected)
		l.elect(ctx, c, kube, wake.Fire)
	}()
	err = mgr.Start(ctx)
	cancel()
	<-elected
	return err
}

// elect takes part in elections until the context ends.
func (l *loop) elect(ctx context.Context, c Config, kube kubernetes.Interface, began func()) {
	election := leader.Election{Client: kube, Namespace: c.LeaseNamespace, Name: Name, Node: c.Node, Leads: l.metrics.setLeader, Log: c.Log}
	for ctx.Err() == nil {
		err := election.Run(ctx, func(ctx context.Context) error {
			l.term.hold(ctx, began)
			return nil
		})
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("this replica no longer writes the status of PreprovisioningImages", "error", err)
		}
	}
}

// newManager returns a manager that caches images of the namespaces, and no Secrets.
func newManager(c Config) (manager.Manager, error) {
	namespaces := map[string]cache.Config{}
	for _, n := range c.Namespaces {
		namespaces[n] = cache.Config{}
	}
	skipValidation := true
	mgr, err := manager.New(c.Kube, manager.Options{
		Scheme:     clientgoscheme.Scheme,
		Cache:      cache.Options{DefaultNamespaces: namespaces},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skipValidation, CacheSyncTimeout: syncTimeout},
		Logger:     logr.FromSlogHandler(c.Log.Handler()),
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	return mgr, nil
}
