package flannel

import (
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Operands are flannel's agents, its etcd, and the proxies of their metrics. The operator manages the certificates and the members of etcd in the namespace.
func (Flannel) Operands() provider.Operands {
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: record.Namespace, Protected: true, Installed: true}},
		ClusterRoles:        []string{"openshift-flannel"},
		ClusterRoleBindings: []string{"openshift-flannel", metricsproxy.ClusterRoleBinding(metricsName)},
		Agents: []provider.Agent{{Namespace: record.Namespace, Name: "flanneld",
			Files: []string{"/etc/cni/net.d/10-flannel.conflist", "/var/lib/cno/flannel"}}},
	}
}
