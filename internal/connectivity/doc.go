// Package connectivity decides which connections of the cluster are checked, what a check's status says of the samples
// that were taken, and which nodes cannot be reached according to all checks together.
//
// A check is a PodNetworkConnectivityCheck: one source pod that connects to one endpoint repeatedly. Every node's
// target is checked from SourcesPerNode sources on other nodes, and everything that is not a node's from every source; so the number of
// checks grows with the nodes, and not with pairs of them, while the number of sources grows so slowly that each has about
// NodesPerSource nodes to check.
//
// It is pure: it neither connects nor reads, and the time is an argument.
package connectivity

// Names of what runs in the cluster. Users and tools know them from OpenShift.
const (
	// Namespace is where sources and targets run, and where the checks are.
	Namespace = "openshift-network-diagnostics"
	// SourceName is the name of the sources' Deployment and Service, and the value of their label app.
	SourceName = "network-check-source"
	// TargetName is the same of the targets' DaemonSet.
	TargetName = "network-check-target"
	// SourceLabel is the label of a check that holds the name of its source pod, so that a source reads its own checks and
	// no others.
	SourceLabel = "networkoperator.openshift.io/check-source-pod"
	// TargetPort is the port of pods on which targets answer HTTP.
	TargetPort = 8080
	// MetricsPort is the port on which sources serve metrics.
	MetricsPort = 17698
)

const (
	// SourcesPerNode is from how many sources each node is checked. Two of them can contradict one another, which is what
	// they are there for: that one alone cannot reach a node says as much of the source as of the node.
	SourcesPerNode = 2
	// NodesPerSource is how many nodes a source checks, on average and at most, where there are enough of them.
	NodesPerSource = 500
	// LeastSources is how many sources there are in small clusters, one a node.
	LeastSources = 3
)

// Sources is how many sources a cluster of so many nodes has.
func Sources(nodes int) int {
	wanted := max(LeastSources, (nodes*SourcesPerNode+NodesPerSource-1)/NodesPerSource)
	return max(1, min(wanted, nodes))
}
