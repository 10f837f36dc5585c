package kit

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// metricsReader is the ClusterRole of those who may read the metrics of all programs.
const metricsReader = "cluster-network-operator-metrics"

// MetricsServer serves metrics over TLS.
type MetricsServer struct {
	// Title names it in failures, Figure begins a metric that it has.
	Title, Figure string
	// Address returns its address and port.
	Address func(context.Context) (string, error)
}

// MetricsAreForReaders reads the metrics of servers from a node, as Prometheus would: who may read them gets the figure; who may not, or has a token that
// is none, gets no metric: kubectl asks the latter to "provide credentials".
func (k *Kit) MetricsAreForReaders(t testing.TB, servers ...MetricsServer) {
	t.Helper()
	namespace := k.Namespace(t)
	const reader, stranger, unknown = "prometheus", "stranger", "unknown"
	tokens := map[string]string{unknown: "none"}
	for _, account := range []string{reader, stranger} {
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
		Eventually(t, 2*time.Minute, "who may read, reads what "+server.Title+" counts", func(ctx context.Context) error {
			if out, err := read(ctx, reader); err != nil || !strings.Contains(out, "\n"+server.Figure) {
				return fmt.Errorf("no %s: %w", server.Figure, err)
			}
			return nil
		})
		for account, status := range map[string]string{stranger: "Forbidden", unknown: "provide credentials"} {
			if out, err := read(t.Context(), account); err == nil || !strings.Contains(err.Error(), status) || strings.Contains(out, server.Figure) {
				t.Errorf("%s, read by %s: %v, want %s", server.Title, account, err, status)
			}
		}
	}
}
