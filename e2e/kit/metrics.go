package kit

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// metricsReader is the ClusterRole that permits reading the metrics of all components.
const metricsReader = "cluster-network-operator-metrics"

// MetricsServer serves metrics over TLS.
type MetricsServer struct {
	// Title is its name in test failures, Figure the prefix of a metric that it serves.
	Title, Figure string
	// Address returns its address and port.
	Address func(context.Context) (string, error)
}

// MetricsAreForReaders reads the metrics of servers from a node, as Prometheus does. An account with the permission must get the metric;
// an account without it, or with an invalid token, must get none. For an invalid token, kubectl prints "provide credentials".
func (k *Kit) MetricsAreForReaders(t testing.TB, servers ...MetricsServer) {
	t.Helper()
	namespace := k.Namespace(t)
	const reader, unauthorized, invalid = "prometheus", "unauthorized", "invalid"
	tokens := map[string]string{invalid: "none"}
	for _, account := range []string{reader, unauthorized} {
		if _, err := k.Kubectl(t.Context(), "create", "serviceaccount", account, "-n", namespace); err != nil {
			t.Fatal(err)
		}
		out, err := k.Kubectl(t.Context(), "create", "token", account, "-n", namespace)
		if err != nil {
			t.Fatal(err)
		}
		tokens[account] = strings.TrimSpace(out)
	}
	binding := "reads-metrics-" + namespace
	if _, err := k.Kubectl(t.Context(), "create", "clusterrolebinding", binding, "--clusterrole", metricsReader, "--serviceaccount", namespace+":"+reader); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := k.Kubectl(context.Background(), "delete", "clusterrolebinding", binding); err != nil {
			t.Error(err)
		}
	})
	for _, server := range servers {
		read := func(ctx context.Context, account string) (string, error) {
			address, err := server.Address(ctx)
			if err != nil {
				return "", err
			}
			return k.Lab(ctx, "exec", "worker-0", "--", filepath.Join(k.Root, "_output/lab/bin/kubectl"), "--kubeconfig", "/dev/null",
				"--server", "https://"+address, "--insecure-skip-tls-verify", "--token", tokens[account], "get", "--raw", "/metrics")
		}
		Eventually(t, 2*time.Minute, "an authorized account can read the metrics of "+server.Title, func(ctx context.Context) error {
			if out, err := read(ctx, reader); err != nil || !strings.Contains(out, "\n"+server.Figure) {
				return fmt.Errorf("no %s: %w", server.Figure, err)
			}
			return nil
		})
		for account, status := range map[string]string{unauthorized: "Forbidden", invalid: "provide credentials"} {
			if out, err := read(t.Context(), account); err == nil || !strings.Contains(err.Error(), status) || strings.Contains(out, server.Figure) {
				t.Errorf("%s, read by %s: %v, want %s", server.Title, account, err, status)
			}
		}
	}
}
