package flannel

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// podAddress is the address of a pod that is ready.
func podAddress(ctx context.Context, namespace string, labels map[string]string) (string, error) {
	var pods corev1.PodList
	if err := lab.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return "", err
	}
	for _, p := range pods.Items {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return p.Status.PodIP, nil
			}
		}
	}
	return "", fmt.Errorf("no pod of %s in %s is ready", labels, namespace)
}

// TestMetricsAreForThoseWhoMayReadThem reads them from a node, as Prometheus would: over TLS, with the token of a service
// account.
func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	namespace := lab.Namespace(t)
	token := map[string]string{}
	for _, account := range []string{"prometheus", "stranger"} {
		if _, err := lab.Kubectl(t.Context(), "create", "serviceaccount", account, "-n", namespace); err != nil {
			t.Fatal(err)
		}
		out, err := lab.Kubectl(t.Context(), "create", "token", account, "-n", namespace)
		if err != nil {
			t.Fatal(err)
		}
		token[account] = strings.TrimSpace(out)
	}
	binding := "reads-metrics-" + namespace
	if _, err := lab.Kubectl(t.Context(), "create", "clusterrolebinding", binding, "--clusterrole", "cluster-network-operator-metrics",
		"--serviceaccount", namespace+":prometheus"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := lab.Kubectl(context.Background(), "delete", "clusterrolebinding", binding); err != nil {
			t.Error(err)
		}
	})
	for _, server := range []struct {
		namespace, port, figure string
		labels                  map[string]string
	}{
		{"openshift-network-operator", "9104", "controller_runtime_reconcile_total", map[string]string{"name": "network-operator"}},
		{"openshift-network-diagnostics", "17698", "pod_network_connectivity_check_count", map[string]string{"app": "network-check-source"}},
		{kit.FlannelNamespace, "9109", "flanneld_ready", map[string]string{"app": "flanneld"}},
		{kit.FlannelNamespace, "9110", "etcd_server_has_leader 1", map[string]string{"app": "flannel-etcd"}},
		{kit.ProxyNamespace, "9102", "kubeproxy_sync_proxy_rules_last_timestamp_seconds", map[string]string{"app": "kube-proxy"}},
	} {
		read := func(ctx context.Context, account string) (string, error) {
			address, err := podAddress(ctx, server.namespace, server.labels)
			if err != nil {
				return "", err
			}
			return lab.Lab(ctx, "exec", "worker-0", "--", filepath.Join(lab.Root, "_output/lab/bin/kubectl"), "--kubeconfig", "/dev/null",
				"--server", "https://"+net.JoinHostPort(address, server.port), "--insecure-skip-tls-verify", "--token", token[account], "get", "--raw", "/metrics")
		}
		kit.Eventually(t, 2*time.Minute, "who may read, reads what "+server.namespace+" counts", func(ctx context.Context) error {
			if out, err := read(ctx, "prometheus"); err != nil || !strings.Contains(out, server.figure) {
				return fmt.Errorf("no %s: %w", server.figure, err)
			}
			return nil
		})
		if out, err := read(t.Context(), "stranger"); err == nil || strings.Contains(out, server.figure) {
			t.Errorf("%s: who may not reads, too", server.namespace)
		}
	}
}
