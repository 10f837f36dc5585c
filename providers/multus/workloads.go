package multus

import "github.com/cluster-network-operator/cno/internal/provider"

// The labels app of pods that belong to additional networks, and that controllers of their own create.
const (
	AllowlistApp    = "cni-sysctl-allowlist-ds"
	EgressRouterApp = "egress-router-cni"
)

// Workloads are the installer of sysctl lists and the pods of EgressRouters. The pipeline renders neither.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: AllowlistApp, Placed: true, Rolling: true, Env: []string{"ALLOWLIST"}},
		{Name: EgressRouterApp},
	}
}
