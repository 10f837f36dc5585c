package kubeproxy

import (
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Workloads returns the DaemonSets of kube-proxy and of its metrics proxies.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: appName, Placed: true, Rolling: true, Env: []string{"NODE_NAME", facts.ServiceHostVariable, facts.ServicePortVariable}},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
