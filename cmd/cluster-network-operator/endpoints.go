package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/cluster-network-operator/cno/internal/checkendpoints"
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/metricsauth"
	"github.com/cluster-network-operator/cno/internal/version"
)

// endpointFlags are the flags of the command check-endpoints.
type endpointFlags struct {
	kubeconfig, namespace, listen string
	tls                           tlsFlags
}

func checkEndpoints() *cobra.Command {
	var f endpointFlags
	cmd := &cobra.Command{
		Use: "check-endpoints", Short: "Run the connectivity checks of this pod", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runChecks(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "a kubeconfig file; without one, the pod's service account is used")
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "where the checks are (default: $POD_NAMESPACE, or "+connectivity.Namespace+")")
	cmd.Flags().StringVar(&f.listen, "listen", fmt.Sprintf(":%d", connectivity.MetricsPort), "where to serve /metrics, /healthz and /readyz over TLS")
	f.tls.add(cmd)
	return cmd
}

func runChecks(ctx context.Context, f endpointFlags) error {
	log := logging.Setup(os.Stderr, new(slog.LevelVar))
	pod := os.Getenv("POD_NAME")
	if pod == "" {
		return errors.New("the variable POD_NAME must name the pod whose checks are to be run")
	}
	config, err := f.tls.config()
	if err != nil {
		return err
	}
	api, err := clientConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	client, err := checkendpoints.NewClient(withAgent(api))
	if err != nil {
		return err
	}
	readers, err := metricsReaders(api, log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(ctx), "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	registry := prometheus.NewRegistry()
	checker := checkendpoints.New(checkendpoints.Options{
		Client: client, Namespace: cmp.Or(f.namespace, os.Getenv("POD_NAMESPACE"), connectivity.Namespace), Pod: pod,
		Metrics: checkendpoints.NewMetrics(registry), Now: time.Now, Log: log,
	})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return checkendpoints.Server{Registry: registry, Readers: readers.Only, Ready: checker.Ready, TLS: config}.Serve(ctx, listener)
	})
	group.Go(func() error { checker.Run(ctx); return nil })
	return group.Wait()
}

// clientConfig returns the client configuration for the API server: from a kubeconfig file, or from the pod's service account.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	api, err := rest.InClusterConfig()
	if kubeconfig != "" {
		api, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("read how to reach the API server: %w", err)
	}
	return api, nil
}

// metricsReaders returns the authorization of clients that read metrics.
func metricsReaders(api *rest.Config, log *slog.Logger) (*metricsauth.Readers, error) {
	web, err := rest.HTTPClientFor(api)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return metricsauth.New(api, web, time.Now, log.With("controller", "metrics"))
}

func withAgent(config *rest.Config) *rest.Config {
	config.UserAgent = "cluster-network-check-endpoints/" + version.String()
	return config
}
