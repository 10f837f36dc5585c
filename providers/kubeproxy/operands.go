package kubeproxy

import (
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// Operands returns the operands: kube-proxy, which leaves no files on nodes, and its metrics proxies.
func (Component) Operands() provider.Operands {
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: "openshift-kube-proxy", Protected: true}},
		ClusterRoles:        []string{"openshift-kube-proxy"},
		ClusterRoleBindings: []string{"openshift-kube-proxy", metricsproxy.ClusterRoleBinding(metricsName)},
		Agents:              []provider.Agent{{Namespace: "openshift-kube-proxy", Name: "openshift-kube-proxy"}},
		ConfigMaps:          []string{"proxy-config"},
		Rules:               provider.RulesOf(assets, "clusterrole"),
		Images:              []provider.Image{{Variable: ImageVariable, Name: "kube-proxy"}},
	}
}
