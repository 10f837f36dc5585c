package ovnkubernetes

import (
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/topology"
)

// Names of DaemonSets, which are the values of their pods' label app, and of roles.
const (
	masterName = "ovnkube-master"
	nodeName   = "ovnkube"
	// metricsName is the name of the DaemonSet of metrics proxies.
	metricsName = "ovnkube-metrics"

	masterRole = "openshift-ovn-kubernetes-master"
	nodeRole   = "openshift-ovn-kubernetes-node"
	leaderRole = "openshift-ovn-kubernetes-leader"
	ipsecRole  = "openshift-ovn-kubernetes-ipsec"
	reportRole = "openshift-ovn-kubernetes-ipsec-report"
	mtuRole    = "openshift-ovn-kubernetes-node-report"

	// nodeAccount is the ServiceAccount of agents.
	nodeAccount = "ovn-kubernetes-node"
)

// Operands returns the operands: the masters and the agents.
func (OVNKubernetes) Operands() provider.Operands {
	rules := append(provider.RulesOf(assets, "clusterrole-master"), provider.RulesOf(assets, "clusterrole-node")...)
	for _, role := range []string{"clusterrole-leader", "clusterrole-ipsec", "clusterrole-ipsec-report", "clusterrole-node-report"} {
		rules = append(rules, provider.RulesOf(assets, role)...)
	}
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: agentconfig.Namespace, Protected: true, Network: operatorv1.NetworkTypeOVNKubernetes}},
		ClusterRoles:        []string{masterRole, nodeRole, leaderRole, ipsecRole, reportRole, mtuRole},
		ClusterRoleBindings: []string{masterRole, nodeRole, ipsecRole, metricsproxy.ClusterRoleBinding(metricsName)},
		Agents: []provider.Agent{
			{Namespace: agentconfig.Namespace, Name: nodeName, Files: []string{
				agentconfig.PluginConfDir + "/10-ovn-kubernetes.conflist", agentconfig.StateDir, agentconfig.SwitchDataDir,
			}},
			{Namespace: agentconfig.Namespace, Name: masterName, Files: []string{agentconfig.DataDir}},
		},
		Bridges:    []string{topology.IntegrationBridge},
		Plugins:    []string{agentconfig.Plugin},
		ConfigMaps: []string{agentconfig.ConfigMap, agentconfig.IPsecConfigMap},
		Rules: append(rules, rbacv1.PolicyRule{
			APIGroups: []string{"network.operator.openshift.io"}, Resources: []string{"operatorpkis"}, Verbs: []string{"create", "patch", "delete"},
		}),
		Annotators: []provider.Annotator{{
			Namespace: agentconfig.Namespace, Name: "ovn-kubernetes-master", Resources: []string{"nodes", "pods"}, Prefix: "k8s.ovn.org/",
			Network: operatorv1.NetworkTypeOVNKubernetes, Reserved: map[string]string{"nodes": topology.NodeSubnets, "pods": topology.PodNetworks},
		}, {
			Namespace: agentconfig.Namespace, Name: agentconfig.IPsecAccount, Resources: []string{"pods"}, Annotation: agentconfig.IPsecAnnotation, OwnNode: true,
			Network: operatorv1.NetworkTypeOVNKubernetes,
		}, {
			Namespace: agentconfig.Namespace, Name: nodeAccount, Resources: []string{"pods"}, Annotation: mtumigration.Annotation, OwnNode: true,
			Network: operatorv1.NetworkTypeOVNKubernetes,
		}},
		Requesters:     []provider.Account{{Namespace: agentconfig.Namespace, Name: agentconfig.IPsecAccount}},
		FightReporters: []provider.Account{{Namespace: agentconfig.Namespace, Name: nodeAccount}},
		Images:         []provider.Image{{Variable: Image, Name: "ovn"}},
	}
}

// Workloads returns the DaemonSets of the masters, the agents and the metrics proxies.
func (OVNKubernetes) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: masterName, Placed: true, Rolling: true, Env: variables()},
		{Name: nodeName, Placed: true, Rolling: true, Env: append(variables(), agentconfig.VariablePod)},
		{Name: ipsecName, Placed: true, Rolling: true, Env: append(variables(), agentconfig.VariablePod)},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
