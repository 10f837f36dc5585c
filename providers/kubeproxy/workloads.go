package kubeproxy

import "github.com/cluster-network-operator/cno/internal/provider"

// Workloads is kube-proxy.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{{Name: "kube-proxy", Placed: true, Rolling: true, Env: []string{"NODE_NAME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}}}
}
