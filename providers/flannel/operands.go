package flannel

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// Operands returns the operands: flannel's agents, its etcd, and the metrics proxies. The operator manages the certificates and the members of etcd in the
// namespace.
func (Flannel) Operands() provider.Operands {
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: record.Namespace, Protected: true, Installed: true}},
		ClusterRoles:        []string{"openshift-flannel"},
		ClusterRoleBindings: []string{"openshift-flannel", metricsproxy.ClusterRoleBinding(metricsName)},
		Agents: []provider.Agent{{Namespace: record.Namespace, Name: "flanneld",
			Files: []string{"/etc/cni/net.d/10-flannel.conflist", "/var/lib/cno/flannel"}}},
		Bridges:    []string{agentconfig.Default().CNI.Bridge},
		ConfigMaps: []string{record.ConfigMap, record.Etcd.MembersConfigMap()},
		Rules: append(provider.RulesOf(assets, "clusterrole"),
			// The operator signs the certificates of agents.
			rbacv1.PolicyRule{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"get", "list", "watch"}},
			rbacv1.PolicyRule{
				APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests/approval", "certificatesigningrequests/status"}, Verbs: []string{"update"},
			},
			rbacv1.PolicyRule{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{record.Etcd.Signer()}, Verbs: []string{"approve", "sign"}},
		),
		Images:  []provider.Image{{Variable: record.FlannelImage, Name: "flannel"}, {Variable: record.EtcdImage, Name: "etcd"}},
		WayOuts: wayOuts(),
	}
}
