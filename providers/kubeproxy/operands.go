package kubeproxy

import "github.com/cluster-network-operator/cno/internal/provider"

// Operands is kube-proxy, which leaves no files on nodes.
func (Component) Operands() provider.Operands {
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: "openshift-kube-proxy", Protected: true}},
		ClusterRoles:        []string{"openshift-kube-proxy"},
		ClusterRoleBindings: []string{"openshift-kube-proxy"},
		Agents:              []provider.Agent{{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}},
	}
}
