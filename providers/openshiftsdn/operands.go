package openshiftsdn

import (
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	// metricsName is the name of the DaemonSet of metrics proxies.
	metricsName = "sdn-metrics"

	nodeRole       = "openshift-sdn"
	controllerRole = "openshift-sdn-controller"
	leaderRole     = "openshift-sdn-controller-leaderelection"
	unidlingRole   = "openshift-sdn-unidling"
	readersRole    = "openshift-sdn-readers"
)

// Operands returns the operands: Open vSwitch, the agents with kube-proxy, and the controller.
func (OpenShiftSDN) Operands() provider.Operands {
	var rules []rbacv1.PolicyRule
	for _, role := range []string{"sdn", "controller", "leader", "unidling", "readers"} {
		rules = append(rules, provider.RulesOf(assets, "clusterrole-"+role)...)
	}
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: agentconfig.Namespace, Protected: true, Network: operatorv1.NetworkTypeOpenShiftSDN}},
		ClusterRoles:        []string{nodeRole, controllerRole, leaderRole, unidlingRole, readersRole},
		ClusterRoleBindings: []string{nodeRole, controllerRole, unidlingRole, metricsproxy.ClusterRoleBinding(metricsName)},
		Agents: []provider.Agent{{Namespace: agentconfig.Namespace, Name: agentconfig.Node, Files: []string{
			agentconfig.PluginConfDir + "/" + agentconfig.ConfigurationList, agentconfig.StateDir, agentconfig.AddressDir + "/" + agentconfig.Plugin, agentconfig.SwitchDataDir,
		}}},
		Bridges:        []string{agentconfig.Bridge},
		Plugins:        []string{agentconfig.Plugin},
		ConfigMaps:     []string{agentconfig.ConfigMap},
		Definitions:    crdNames(),
		Rules:          append(rules, ownRules()...),
		FightReporters: []provider.Account{{Namespace: agentconfig.Namespace, Name: agentconfig.Node}},
		Guards:         admissionPolicies(),
		Images:         []provider.Image{{Variable: Image, Name: "sdn"}, {Variable: proxyImage, Name: "kube-proxy"}},
	}
}

// ownRules returns the permissions for objects that only this network has.
func ownRules() []rbacv1.PolicyRule {
	change := []string{"get", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"network.openshift.io"}, Resources: []string{"clusternetworks"}, Verbs: []string{"list", "watch", "create"}},
		{APIGroups: []string{"network.openshift.io"}, Resources: []string{"clusternetworks"}, ResourceNames: []string{clusterNetwork}, Verbs: change},
		{APIGroups: []string{"network.openshift.io"}, Resources: []string{"netnamespaces"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		// Before it deletes a CRD, the operator lists its objects.
		{APIGroups: []string{"network.openshift.io"}, Resources: []string{"hostsubnets", "egressnetworkpolicies"}, Verbs: []string{"list"}},
		{APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Resources: []string{"flowschemas"}, Verbs: []string{"list", "watch", "create"}},
		{APIGroups: []string{"flowcontrol.apiserver.k8s.io"}, Resources: []string{"flowschemas"}, ResourceNames: []string{"openshift-sdn"}, Verbs: change},
	}
}

// Workloads returns the DaemonSets of Open vSwitch, the agents, the controller and the metrics proxies.
func (OpenShiftSDN) Workloads() []provider.Workload {
	api := []string{facts.ServiceHostVariable, facts.ServicePortVariable}
	return []provider.Workload{
		{Name: agentconfig.Switch, Placed: true, Rolling: true},
		{Name: agentconfig.Node, Placed: true, Rolling: true, Env: append([]string{"NODE_NAME", "NODE_IP", agentconfig.VariableMTU}, api...)},
		{Name: agentconfig.Controller, Placed: true, Rolling: true, Env: append([]string{"NODE_NAME"}, api...)},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
	}
}
