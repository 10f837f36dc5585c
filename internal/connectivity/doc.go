// Package connectivity plans the connectivity checks of a cluster, records samples in the status of a check, and summarizes the results of
// all checks.
//
// A check is a PodNetworkConnectivityCheck: one source pod that repeatedly connects to one endpoint. Every node's target is checked from
// SourcesPerNode sources on other nodes, and every other target from every source. So the number of checks grows linearly with the nodes;
// the number of sources grows so that each has about NodesPerSource nodes to check.
//
// The package is pure: it neither connects nor reads, and takes the time as an argument.
package connectivity

// Names in the cluster, the same as in OpenShift.
const (
	// Namespace is the namespace of sources, targets and checks.
	Namespace = "openshift-network-diagnostics"
	// SourceName is the name of the sources' Deployment and Service, and the value of their label app.
	SourceName = "network-check-source"
	// TargetName is the name of the targets' DaemonSet and Service, and the value of their label app.
	TargetName = "network-check-target"
	// SourceLabel is the label of a check with the name of its source pod, by which a source selects its checks.
	SourceLabel = "networkoperator.openshift.io/check-source-pod"
	// TargetPort is the pod port on which targets serve HTTP.
	TargetPort = 8080
	// MetricsPort is the port on which sources serve metrics.
	MetricsPort = 17698
)

const (
	// SourcesPerNode is the number of sources that check each node. Two of them are needed to distinguish a fault of the node from one of
	// the source.
	SourcesPerNode = 2
	// NodesPerSource is the average number of nodes that a source checks in large clusters.
	NodesPerSource = 500
	// MinSources is the minimum number of sources, at most one per node.
	MinSources = 3
)

// Sources returns the number of sources for a number of nodes.
func Sources(nodes int) int {
	wanted := max(MinSources, (nodes*SourcesPerNode+NodesPerSource-1)/NodesPerSource)
	return max(1, min(wanted, nodes))
}
