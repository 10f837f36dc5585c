package diagnostics

import "github.com/cluster-network-operator/cno/internal/provider"

// Workloads are the sources and the targets of connectivity checks.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: "network-check-source", Env: []string{"POD_NAME", "POD_NAMESPACE"}},
		{Name: "network-check-target", Placed: true, Rolling: true, Env: []string{"GOMAXPROCS"}},
	}
}
