package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
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

// endpointFlags are those of check-endpoints.
type endpointFlags struct {
	kubeconfig, namespace, listen, minVersion string
	suites                                    []string
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
	cmd.Flags().StringVar(&f.minVersion, "tls-min-version", "", "the oldest version of TLS: VersionTLS12 or VersionTLS13 (default VersionTLS12)")
	cmd.Flags().StringSliceVar(&f.suites, "tls-cipher-suites", nil, "the cipher suites of TLS 1.2, by their names in Go (default: all that are secure)")
	return cmd
}

func runChecks(ctx context.Context, f endpointFlags) error {
	log := logging.Setup(os.Stderr, new(slog.LevelVar))
	pod := os.Getenv("POD_NAME")
	if pod == "" {
		return errors.New("the variable POD_NAME must name the pod whose checks are to be run")
	}
	config, err := tlsConfig(f.minVersion, f.suites)
	if err != nil {
		return err
	}
	api, err := rest.InClusterConfig()
	if f.kubeconfig != "" {
		api, err = clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	}
	if err != nil {
		return fmt.Errorf("read how to reach the API server: %w", err)
	}
	client, err := checkendpoints.NewClient(withAgent(api))
	if err != nil {
		return err
	}
	web, err := rest.HTTPClientFor(api)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	readers, err := metricsauth.New(api, web, time.Now, log.With("controller", "metrics"))
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

func withAgent(config *rest.Config) *rest.Config {
	config.UserAgent = "cluster-network-check-endpoints/" + version.String()
	return config
}

// tlsConfig reads the flags of TLS. What is unknown, or not secure, is an error that says what is known.
func tlsConfig(minVersion string, suites []string) (*tls.Config, error) {
	versions := map[string]uint16{"": tls.VersionTLS12, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}
	least, known := versions[minVersion]
	if !known {
		return nil, fmt.Errorf("--tls-min-version %q is unknown; write VersionTLS12 or VersionTLS13", minVersion)
	}
	config := &tls.Config{MinVersion: least}
	var names []string
	for _, s := range tls.CipherSuites() {
		names = append(names, s.Name)
		if slices.Contains(suites, s.Name) {
			config.CipherSuites = append(config.CipherSuites, s.ID)
		}
	}
	for _, s := range suites {
		if !slices.Contains(names, s) {
			return nil, fmt.Errorf("--tls-cipher-suites has %q, which is unknown or not secure; the known ones are %s", s, strings.Join(names, ", "))
		}
	}
	return config, nil
}
