// Package record has the settings that flannel's rendering passes to its controller, as values with a JSON form, and the names of flannel's objects, including
// those of its etcd. It is pure.
package record

import (
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Names of flannel's objects.
const (
	// Namespace has all objects that nodes need.
	Namespace = "openshift-flannel"
	// ConfigMap has the configuration of the agents under AgentKey, and that of the operator's controller under SettingsKey. The controller is active while it
	// exists.
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

// Etcd is the etcd that the operator runs for flannel. It is constant.
var Etcd = etcdcluster.Cluster{
	Network: "flannel", Component: Component, Namespace: Namespace, App: "flannel-etcd", ServiceAccount: "flannel",
	Holds: "which node has which subnet", WhenFull: "no lease can be renewed", MetricsPort: 12381,
}
