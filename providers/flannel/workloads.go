package flannel

import (
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Workloads are the agents, the members of the operator's etcd, and the proxies of metrics.
func (Flannel) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: agentApp, Placed: true, Rolling: true, Env: []string{"NODE_NAME"}},
		{Name: etcdApp, Placed: true},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
