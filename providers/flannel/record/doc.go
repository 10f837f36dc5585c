// Package record holds what the operator's side of flannel writes down, as values with a JSON form: what its
// rendering tells its controller (Settings). It names flannel's objects, among them those of its etcd.
//
// It is pure, and decides nothing.
package record

import (
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Where flannel's objects are, and what they are called.
const (
	// Namespace holds everything of flannel that nodes need.
	Namespace = "openshift-flannel"
	// ConfigMap holds the configuration of the agents under AgentKey and that of the operator's controller under
	// SettingsKey. The controller is active while it exists.
	ConfigMap   = "flannel-config"
	AgentKey    = "flanneld.json"
	SettingsKey = "cluster.json"
	// EtcdImage is the environment variable that names the image of etcd.
	EtcdImage = "ETCD_IMAGE"
	// FlannelImage is the environment variable that names the image of the agent.
	FlannelImage = "FLANNEL_IMAGE"
	// Component is the name in conditions and labels.
	Component = "Flannel"
)

// Etcd is the etcd that the operator runs for flannel. It never changes.
var Etcd = etcdcluster.Cluster{
	Network: "flannel", Component: Component, Namespace: Namespace, App: "flannel-etcd", ServiceAccount: "flannel",
	Holds: "which node has which subnet", WhenFull: "no lease can be renewed", MetricsPort: 12381,
}
