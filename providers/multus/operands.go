package multus

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

const (
	// Namespace is the namespace of the daemons and of the address records.
	Namespace = finding.Namespace
	// ImageVariable is the operator's environment variable with the image of the daemons.
	ImageVariable = "MULTUS_IMAGE"

	// daemonName is the name of the DaemonSet and of its ServiceAccount, and the value of its pods' label app.
	daemonName = finding.App
	configMap  = "multus-config"

	daemonRole      = "openshift-multus"
	whereaboutsRole = "openshift-multus-whereabouts"
	// readersRole has the same name as in OpenShift.
	readersRole = "net-attach-def-project"
)

// Operands returns the operands: the daemons, and the CRDs that they use.
func (Component) Operands() provider.Operands {
	rules := append(provider.RulesOf(assets, "clusterrole"), provider.RulesOf(assets, "clusterrole-whereabouts")...)
	rules = append(rules, provider.RulesOf(assets, "clusterrole-admin")...)
	defaults := agentconfig.Default()
	return provider.Operands{
		Namespaces:          []provider.OperandNamespace{{Name: Namespace, Protected: true}},
		ClusterRoles:        []string{daemonRole, whereaboutsRole, readersRole},
		ClusterRoleBindings: []string{daemonRole, metricsproxy.ClusterRoleBinding(metricsName)},
		Agents: []provider.Agent{{
			Namespace: Namespace, Name: daemonName, Files: []string{defaults.StateDir, defaults.AddressDir, defaults.DHCPDir, defaults.PolicyDir}, Detaches: attached,
		}},
		ConfigMaps: []string{configMap},
		Guards:     append(admissionPolicies(), recordPolicies()...),
		Annotators: []provider.Annotator{{
			Namespace: Namespace, Name: daemonName, Resources: []string{"pods/status"}, Annotation: wire.AnnotationStatus, OwnPod: finding.Annotation, OwnNode: true,
			Setting: "spec.disableMultiNetwork", Value: "false", Reserved: map[string]string{"pods": wire.AnnotationStatus},
		}},
		Definitions: crdNames(),
		Rules:       rules,
		Images:      []provider.Image{{Variable: ImageVariable, Name: "multus"}},
	}
}

// Values of the label app of pods for additional networks that separate controllers create.
const (
	AllowlistApp    = "cni-sysctl-allowlist-ds"
	EgressRouterApp = "egress-router-cni"
)

// attached reports whether a pod may have networks that its node's daemon has to detach. Pods of EgressRouters are excluded: the operator's uninstallation deletes
// them first.
func attached(p *corev1.Pod) bool {
	runs := p.Spec.NodeName != "" && !isTerminated(p)
	requests := p.Annotations[wire.AnnotationNetworks] != "" || p.Annotations[wire.AnnotationDefault] != ""
	return runs && requests && !p.Spec.HostNetwork && p.Labels["app"] != EgressRouterApp
}

// Workloads returns the daemons and their metrics proxies, and the workloads that other controllers create: the installer of sysctl lists and the pods of
// EgressRouters.
func (Component) Workloads() []provider.Workload {
	return []provider.Workload{
		{Name: daemonName, Placed: true, Rolling: true, Env: daemonEnv()},
		{Name: metricsName, Placed: true, Rolling: true, Env: metricsproxy.Env()},
		{Name: AllowlistApp, Placed: true, Rolling: true, Env: []string{"ALLOWLIST"}},
		{Name: EgressRouterApp},
	}
}
