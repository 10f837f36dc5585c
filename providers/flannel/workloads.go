package flannel

import (
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Workloads are the agents, the members of the operator's etcd with what takes their snapshots, and the proxies of metrics.
func (Flannel) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: agentApp, Placed: true, Rolling: true, Env: []string{"NODE_NAME"}},
		{Name: record.Etcd.App, Placed: true},
		{Name: record.Etcd.SnapshotsApp(), Placed: true, Env: etcdcluster.SnapshotsEnv()},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
