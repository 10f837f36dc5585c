package flannel

import (
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Workloads returns the workloads of the agents, of the managed etcd's members and snapshots, and of the metrics proxies.
func (Flannel) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: agentApp, Placed: true, Rolling: true, Env: []string{"NODE_NAME"}},
		{Name: record.Etcd.App, Placed: true},
		{Name: record.Etcd.SnapshotsApp(), Placed: true, Env: etcdcluster.SnapshotsEnv()},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
