package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/cluster-network-operator/cno/internal/logging"
	"github.com/cluster-network-operator/cno/internal/metricsserver"
	"github.com/cluster-network-operator/cno/internal/version"
)

// tlsFlags are the TLS flags of commands with a server.
type tlsFlags struct {
	minVersion string
	suites     []string
}

func (f *tlsFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.minVersion, "tls-min-version", "", "the oldest version of TLS: VersionTLS12 or VersionTLS13 (default VersionTLS12)")
	cmd.Flags().StringSliceVar(&f.suites, "tls-cipher-suites", nil, "the cipher suites of TLS 1.2, by their names in Go (default: all that are secure)")
}

func (f *tlsFlags) config() (*tls.Config, error) {
	return metricsserver.TLSConfig(f.minVersion, f.suites)
}

// proxyFlags are the flags of the command metrics-proxy.
type proxyFlags struct {
	kubeconfig string
	endpoints  []string
	tls        tlsFlags
}

func metricsProxy() *cobra.Command {
	var f proxyFlags
	cmd := &cobra.Command{
		Use: "metrics-proxy", Short: "Serve metrics of other programs of this host over TLS, to authorized clients", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runProxy(cmd.Context(), f) },
	}
	cmd.Flags().StringArrayVar(&f.endpoints, "endpoint", nil, "LISTEN=URL: where to serve /metrics and /healthz, and the metrics on the loopback address; may be repeated")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "a kubeconfig file; without one, the pod's service account is used")
	f.tls.add(cmd)
	return cmd
}

func runProxy(ctx context.Context, f proxyFlags) error {
	log := logging.Setup(os.Stderr, new(slog.LevelVar))
	config, err := f.tls.config()
	if err != nil {
		return err
	}
	var endpoints []metricsserver.Endpoint
	for _, text := range f.endpoints {
		e, err := metricsserver.ParseEndpoint(text)
		if err != nil {
			return err
		}
		endpoints = append(endpoints, e)
	}
	if len(endpoints) == 0 {
		return errors.New("--endpoint is required; write for example --endpoint=:9102=http://127.0.0.1:29102/metrics")
	}
	api, err := clientConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	api.UserAgent = "cluster-network-metrics-proxy/" + version.String()
	readers, err := metricsReaders(api, log)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range endpoints {
		listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(ctx), "tcp", e.Listen)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		handler := metricsserver.Proxy{Upstream: e.Upstream, Only: readers.Only, Log: log}.Handler()
		group.Go(func() error { return metricsserver.Serve(ctx, listener, handler, config, "metrics-proxy") })
	}
	return group.Wait()
}
