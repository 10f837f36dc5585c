package multus

import (
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

const (
	// Namespace is where the daemons run, and where the records of addresses are.
	Namespace = finding.Namespace
	// ImageVariable is the environment variable of the operator that names the daemons' image.
	ImageVariable = "MULTUS_IMAGE"

	// daemonName is the name of the DaemonSet and of its ServiceAccount, and the label app of its pods.
	daemonName = finding.App
	configMap  = "multus-config"

	daemonRole      = "openshift-multus"
	whereaboutsRole = "openshift-multus-whereabouts"
	// readersRole has the name that OpenShift gives it.
	readersRole = "net-attach-def-project"
)

// Operands are the daemons, and the CRDs of what they read and write.
func (Component) Operands() provider.Operands {
	rules := append(provider.RulesOf(assets, "clusterrole"), provider.RulesOf(assets, "clusterrole-whereabouts")...)
	rules = append(rules, provider.RulesOf(assets, "clusterrole-admin")...)
	defaults := agentconfig.Default()
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: Namespace, Protected: true}},
		ClusterRoles:        []string{daemonRole, whereaboutsRole, readersRole},
		ClusterRoleBindings: []string{daemonRole, metricsproxy.ClusterRoleBinding(metricsName)},
		Agents:              []provider.Agent{{Namespace: Namespace, Name: daemonName, Files: []string{defaults.StateDir, defaults.AddressDir, defaults.DHCPDir, defaults.PolicyDir}}},
		ConfigMaps:          []string{configMap},
		Guards:              guards(),
		Annotators: []provider.Annotator{{
			Namespace: Namespace, Name: daemonName, Resources: []string{"pods/status"}, Annotation: wire.AnnotationStatus, OwnPod: finding.Annotation, OwnNode: true,
			Setting: "spec.disableMultiNetwork", Value: "false", Reserved: map[string]string{"pods": wire.AnnotationStatus},
		}},
		Definitions: definitionNames(),
		Rules:       rules,
		Images:      []provider.Image{{Variable: ImageVariable, Name: "multus"}},
	}
}

// The labels app of pods that belong to additional networks, and that controllers of their own create.
const (
	AllowlistApp    = "cni-sysctl-allowlist-ds"
	EgressRouterApp = "egress-router-cni"
)

// Workloads are the daemons, and what the pipeline does not render: the installer of sysctl lists and the pods of EgressRouters.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: daemonName, Placed: true, Rolling: true, Env: daemonEnv()},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
		{Name: AllowlistApp, Placed: true, Rolling: true, Env: []string{"ALLOWLIST"}},
		{Name: EgressRouterApp},
	}
}
