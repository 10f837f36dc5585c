package flannel

import "github.com/cluster-network-operator/cno/internal/provider"

// Workloads are the agents and the members of the operator's etcd.
func (Flannel) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: "flanneld", Placed: true, Rolling: true, Env: []string{"NODE_NAME"}},
		{Name: "flannel-etcd", Placed: true},
	}
}
