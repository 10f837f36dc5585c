package flannel

import (
	"context"
	"fmt"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
)

// podAddress returns the address of a ready pod.
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

// TestMetricsRequireAuthorization tests the metrics of the operator, of the diagnostics, of flannel and of kube-proxy.
func TestMetricsRequireAuthorization(t *testing.T) {
	server := func(namespace, port, figure string, labels map[string]string) kit.MetricsServer {
		return kit.MetricsServer{Title: namespace + " on port " + port, Figure: figure, Address: func(ctx context.Context) (string, error) {
			address, err := podAddress(ctx, namespace, labels)
			return net.JoinHostPort(address, port), err
		}}
	}
	lab.MetricsAreForReaders(t,
		server("openshift-network-operator", "9104", "controller_runtime_reconcile_total", map[string]string{"name": "network-operator"}),
		server("openshift-network-diagnostics", "17698", "pod_network_connectivity_check_count", map[string]string{"app": "network-check-source"}),
		server(kit.FlannelNamespace, "9109", "flanneld_ready", map[string]string{"app": "flanneld"}),
		server(kit.FlannelNamespace, "9110", "etcd_server_has_leader 1", map[string]string{"app": "flannel-etcd"}),
		server(kit.ProxyNamespace, "9102", "kubeproxy_sync_proxy_rules_last_timestamp_seconds", map[string]string{"app": "kube-proxy"}),
	)
}
