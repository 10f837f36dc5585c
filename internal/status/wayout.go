package status

import (
	"slices"
	"strings"
)

// WayOut is the remedy for conditions and findings with a reason.
type WayOut struct{ Reason, Do string }

// defaultWayOut is the remedy for reasons without a row.
const defaultWayOut = "cno status names the component; the logs of its pods are in the archive of cno doctor"

// WayOuts returns the rows of the table in docs/status.md. cno doctor prints them.
func WayOuts() []WayOut {
	return []WayOut{
		{string(CrashLoop), "the container's last log lines are in the cause, its log before the restart in the archive of cno doctor as .previous.log; if the last change caused it: cno rollback"},
		{string(ImagePull), "make the image available to the nodes, or correct it in the environment of Deployment network-operator (docs/install.md)"},
		{string(CreateFailed), "create the ConfigMap or Secret that the cause names, or wait for the operator to create it"},
		{string(Failed), "resolve the cause, then delete the pod; its workload creates a new one"},
		{string(Unschedulable), "change a node so that the pod fits: the cause names taints, selectors and missing resources"},
		{string(NotReady), "read the pod's log in the archive of cno doctor; kubectl describe pod has the response of its readiness probe"},
		{string(Starting), "kubectl describe pod names what the pod waits for: an image, a volume, or an init container"},
		{reasonRefused, "remove the quota, policy or webhook that refuses the pods; the cause names it"},
		{RolloutHung, "remove the cause that the message names; if the last change of Network/cluster caused it: cno rollback"},
		{reasonDown, "repair the pods that the message names; their logs are in the archive of cno doctor"},
		{reasonNoConfig, "create Network/cluster: kubectl apply -f with one of config/samples, or with what cno history prints"},
		{reasonFamilies, "give every node internal addresses of the same IP families (kubelet --node-ip)"},
		{"InvalidOperatorConfig", "correct the field that the message names, or return to the active configuration: cno rollback current"},
		{"CorruptAppliedConfig", "the message has both ways out: restore the ConfigMap, or delete it"},
		{"BootstrapError", "make the objects that the message names readable; the operator retries automatically"},
		{"RenderError", "provide what the message names, usually an image in the environment of Deployment network-operator"},
		{"ApplyOperatorConfig", "remove what makes the API server refuse the objects: a webhook (cno doctor names it), a policy, a quota, a missing permission; the operator retries automatically"},
		{"FightDetected", "stop the client that the message names, or pause the operator: cno pause; where it names nodes, stop the program that changes them"},
		{"RecordError", "make the ConfigMaps in the operator's namespace writable: the message has the error of the API server; the operator retries automatically"},
		{"RolledBack", "correct Network/cluster and apply it again; cno history shows the revision that stalled"},
		{"FieldWithoutEffect", "remove the field that the message names from Network/cluster, or use a network type that implements it"},
		{"ServicesUnserved", "set spec.deployKubeProxy to true, or install a component that serves Services (docs/providers/kube-proxy.md)"},
		{"ServicesServedTwice", "delete the other service proxy that the message names, or set spec.deployKubeProxy to false (docs/providers/kube-proxy.md)"},
		{"ServiceNetworkWrong", "set spec.serviceNetwork to the Service CIDR that the message names; that change is possible while the network is in use"},
		{"MTUProbeFailed", "kubectl -n openshift-network-operator get pods shows the probe of each node and why it fails"},
		{"MTUImplausible", "correct the MTU of the interfaces of these nodes, then delete ConfigMap mtu in the operator's namespace, so that all nodes are probed again; or set the field mtu of the network's settings in spec.defaultNetwork (docs/api.md)"},
		{"MTUTooSmall", "raise the MTU of the interfaces of these nodes, then delete ConfigMap mtu in the operator's namespace, so that all nodes are probed again; or lower the MTU of the network with spec.migration.mtu (docs/mtu-migration.md)"},
		{"MTUOutliers", "raise the MTU of the interfaces of these nodes to that of the others"},
		{"PoolsInUse", "give these nodes other addresses, or add a pool (docs/safety.md)"},
		{"PodAddressOutdated", "wait: the operator replaces them one by one while all others of their workload are ready; or delete the pods that the message names: new ones get the addresses that their nodes have now"},
		{"NodeUnreachable", "cno connectivity test names the hop that fails; check the node, its link and the agent's pod on it"},
		{"TargetUnreachable", "check the pods of the Service or the API server that the message names; cno connectivity test names the hop that fails"},
		{"SourceIsolated", "check the node of the source and the agent's pod on it; cno connectivity test names the hop that fails"},
		{"InvalidAllowlist", "correct ConfigMap cni-sysctl-allowlist in openshift-multus (docs/controllers/allowlist.md)"},
		{"NotServed", "provide what the message names, usually an image in the environment of Deployment network-operator"},
		{"PartlyServed", "follow the message, or wait: the operator checks again every minute"},
		{"SubnetsExhausted", "delete Nodes whose machine no longer exists, or recreate the cluster with larger pools or a longer hostPrefix: each node needs its own block"},
		{"NoImage", "set the image that the message names in the environment of Deployment network-operator"},
		{"AllowlistNotDistributed", "repair the pods that the message names in namespace openshift-multus"},
		{"NetworkMigrationInProgress", "finish the MTU migration and remove spec.migration"},
		{"MTUMigrationPreflight", "wait, or remove spec.migration to revert the migration (docs/mtu-migration.md)"},
		{"MTUMigrationRouting", "wait, or remove spec.migration to revert the migration (docs/mtu-migration.md)"},
		{"MTUMigrationFinishing", "wait: cno status --watch"},
		{"MTUMigrationFinished", "remove spec.migration"},
		{"Paused", "cno diff shows what the operator will do; end the pause: cno resume"},
		{"Unmanaged", "set spec.managementState to Managed"},
	}
}

// WayOutOf returns the remedy for a condition or a finding. For a stalled rollout, it is that for the problem of its pods, which
// the message names. more are the remedies for reasons of networks.
func WayOutOf(reason, message string, more ...WayOut) string {
	if reason == RolloutHung {
		for _, kind := range problems {
			if kind != NotReady && kind != Starting && strings.Contains(message, verb(kind)) {
				reason = string(kind)
				break
			}
		}
	}
	all := append(WayOuts(), more...)
	if i := slices.IndexFunc(all, func(w WayOut) bool { return w.Reason == reason }); i >= 0 {
		return all[i].Do
	}
	return defaultWayOut
}
