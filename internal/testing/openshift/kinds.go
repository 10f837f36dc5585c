package openshift

// Kinds returns the names of the definitions that this operator uses on OpenShift when they are there: it reads the
// objects, writes them, or comes with some. Those that it owns itself (Network.operator.openshift.io, EgressRouter,
// OperatorPKI) are not among them.
func Kinds() []string {
	return []string{
		"apiservers.config.openshift.io",
		"clusteroperators.config.openshift.io",
		"clusterversions.config.openshift.io",
		"dnses.config.openshift.io",
		"featuregates.config.openshift.io",
		"infrastructures.config.openshift.io",
		"ingresses.config.openshift.io",
		"networks.config.openshift.io",
		"proxies.config.openshift.io",
		"ingresscontrollers.operator.openshift.io",
		"podnetworkconnectivitychecks.controlplane.operator.openshift.io",
		"machines.machine.openshift.io",
		"machinesets.machine.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io",
		"machineconfigpools.machineconfiguration.openshift.io",
		"network-attachment-definitions.k8s.cni.cncf.io",
		"servicemonitors.monitoring.coreos.com",
		"prometheusrules.monitoring.coreos.com",
	}
}
