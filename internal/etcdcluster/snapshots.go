package etcdcluster

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

const (
	// SnapshotPeriod is the interval of snapshots on a node.
	SnapshotPeriod = 6 * time.Hour
	// SnapshotsKept is the number of snapshots that a node keeps: those of two days.
	SnapshotsKept = 8
)

// The environment variables of pods that take snapshots. They are not arguments, so that commands that a user runs in such a pod also have them.
const (
	// EnvNode is the name of the node, EnvEndpoint the URL of its member.
	EnvNode     = "ETCD_NODE"
	EnvEndpoint = "ETCD_ENDPOINT"
	// EnvTLS is the directory with tls.crt, tls.key and BundleKey, EnvData the parent of the members' data directories, EnvMembers the file
	// with the Membership.
	EnvTLS     = "ETCD_TLS"
	EnvData    = "ETCD_DATA"
	EnvMembers = "ETCD_MEMBERS"
)

// SnapshotsEnv returns the environment variables of pods that take snapshots.
func SnapshotsEnv() []string {
	return []string{"GOMAXPROCS", EnvNode, EnvEndpoint, EnvTLS, EnvData, EnvMembers}
}

// SnapshotsApp returns the label app of the pods that take snapshots.
func (c Cluster) SnapshotsApp() string { return c.App + "-snapshots" }

// Snapshots returns a Deployment for each running member, whose pod takes snapshots on the member's node. The pods are separate, so that a new image of the
// operator does not restart members. image is the image of the operator; directory is the directory of data on nodes.
func (c Cluster) Snapshots(m Membership, image, directory string) ([]manifest.Object, error) {
	list := manifest.List{Assets: assets, Policy: manifest.Policy{NonCritical: true}}
	for _, member := range m.Members {
		if member.Runs() {
			manifest.AddAsset(&list, "snapshots", func(d *appsv1.Deployment) { c.setSnapshots(d, member, image, directory) })
		}
	}
	return list.Result()
}

func (c Cluster) setSnapshots(d *appsv1.Deployment, member Member, image, directory string) {
	d.Namespace, d.Name = c.Namespace, c.SnapshotsApp()+"-"+member.Node
	labels := map[string]string{"app": c.SnapshotsApp(), memberLabel: Hash(member.Node)}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	template := &d.Spec.Template
	template.Labels = labels
	template.Spec.ServiceAccountName = c.ServiceAccount
	template.Spec.Affinity = onNode(member.Node)
	container := &template.Spec.Containers[0]
	container.Image = image
	container.Env = append(container.Env, []corev1.EnvVar{
		{Name: EnvNode, Value: member.Node}, {Name: EnvEndpoint, Value: member.ClientURL}, {Name: EnvTLS, Value: c.mounts() + "/tls"},
		{Name: EnvData, Value: dataMount}, {Name: EnvMembers, Value: c.mounts() + "/config/" + MembersKey},
	}...)
	c.mount(container)
	c.setVolumes(&template.Spec, member.Node, MembersKey, directory)
}

// onNode returns an affinity for the name of the node. It does not use the label kubernetes.io/hostname, which may differ from the name.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}},
	}}
}
