package diagnostics

import (
	"github.com/cluster-network-operator/cno/internal/connectivity"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Operands returns the operands: the sources and the targets of connectivity checks.
func (Component) Operands() provider.Operands {
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: connectivity.Namespace}},
		ClusterRoles:        []string{"openshift-network-diagnostics"},
		ClusterRoleBindings: []string{"network-diagnostics-metrics"},
	}
}
