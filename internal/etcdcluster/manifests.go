package etcdcluster

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cluster-network-operator/cno/internal/manifest"
)

//go:embed assets
var assets embed.FS

// memberLabel tells the pods of one member from those of the others. Its value is a hash, since names of nodes may be
// longer than labels.
const memberLabel = "networkoperator.openshift.io/etcd-member"

// Objects returns the Deployment of each member that runs, with the ConfigMap of its configuration. directory is that of the nodes in
// which members keep their data. The configuration is not part of what makes a pod start again: all that ever changes in it counts only
// for a member that has no data yet.
func (c Cluster) Objects(m Membership, directory string) ([]manifest.Object, error) {
	list := manifest.List{Assets: assets}
	for _, member := range m.Members {
		if !member.Runs() {
			continue
		}
		config, err := m.EtcdConfig(member, c.PodPaths())
		if err != nil {
			return nil, err
		}
		all, err := m.Encode()
		if err != nil {
			return nil, err
		}
		list.Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.MemberDeployment(member.Node),
				Labels: map[string]string{CopyLabel: "true"}},
			Data: map[string]string{configFile: config, MembersKey: all},
		})
		manifest.AddAsset(&list, "etcd", func(d *appsv1.Deployment) { c.setMember(d, member, directory) })
	}
	return list.Result()
}

// configFile is the name of a member's configuration, as the key of its ConfigMap and as a file.
const configFile = "etcd.yaml"

func (c Cluster) setMember(d *appsv1.Deployment, member Member, directory string) {
	d.Namespace, d.Name = c.Namespace, c.MemberDeployment(member.Node)
	d.Annotations = map[string]string{
		"kubernetes.io/description": "One member of the etcd that keeps " + c.Holds + ". Its data is on the node's disk.\n",
	}
	labels := map[string]string{"app": c.App, memberLabel: Hash(member.Node)}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	template := &d.Spec.Template
	template.Labels = labels
	template.Annotations = map[string]string{ConfigHash: member.PodHash()}
	template.Spec.ServiceAccountName = c.ServiceAccount
	// By the name of the node, and not by the label kubernetes.io/hostname, which may differ from it.
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{member.Node}}},
		}}},
	}}
	c.setContainer(&template.Spec.Containers[0], member.Image)
	for i := range template.Spec.Volumes {
		switch v := &template.Spec.Volumes[i]; v.Name {
		case "config":
			v.ConfigMap = &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: d.Name}, Items: []corev1.KeyToPath{{Key: configFile, Path: configFile}},
			}
		case "tls":
			v.Secret.SecretName = c.MemberSecret(member.Node)
		case "data":
			v.HostPath.Path = directory
		}
	}
}

// setContainer sets image, paths and ports.
func (c Cluster) setContainer(etcd *corev1.Container, image string) {
	etcd.Image = image
	config := c.mounts() + "/config"
	etcd.Command = append(etcd.Command, "--config-file", config+"/"+configFile)
	for i := range etcd.VolumeMounts {
		switch v := &etcd.VolumeMounts[i]; v.Name {
		case "config":
			v.MountPath = config
		case "tls":
			v.MountPath = c.PodPaths().TLS
		case "data":
			v.MountPath = dataMount
		}
	}
	for _, probe := range []*corev1.Probe{etcd.StartupProbe, etcd.LivenessProbe, etcd.ReadinessProbe} {
		probe.HTTPGet.Port = intstr.FromInt32(int32(c.MetricsPort))
	}
}
