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

// memberLabel is the label that distinguishes members. Its value is a hash, since names of nodes may be too long for labels.
const memberLabel = "networkoperator.openshift.io/etcd-member"

// Objects returns the Deployment and the ConfigMap of each running member. directory is the directory of data on nodes. Changes of the configuration do not
// restart pods, because they only affect members without data.
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
	template.Spec.Affinity = onNode(member.Node)
	c.setContainer(&template.Spec.Containers[0], member.Image)
	c.setVolumes(&template.Spec, member.Node, configFile, directory)
}

// setVolumes sets the volumes of a pod for the member on a node: one key of its ConfigMap, its certificate, and the data directory.
func (c Cluster) setVolumes(pod *corev1.PodSpec, node, key, directory string) {
	for i := range pod.Volumes {
		switch v := &pod.Volumes[i]; v.Name {
		case "config":
			v.ConfigMap = &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: c.MemberDeployment(node)}, Items: []corev1.KeyToPath{{Key: key, Path: key}},
			}
		case "tls":
			v.Secret.SecretName = c.MemberSecret(node)
		case "data":
			v.HostPath.Path = directory
		}
	}
}

// setContainer sets image, paths and ports.
func (c Cluster) setContainer(etcd *corev1.Container, image string) {
	etcd.Image = image
	etcd.Command = append(etcd.Command, "--config-file", c.mounts()+"/config/"+configFile)
	c.mount(etcd)
	for _, probe := range []*corev1.Probe{etcd.StartupProbe, etcd.LivenessProbe, etcd.ReadinessProbe} {
		probe.HTTPGet.Port = intstr.FromInt32(int32(c.MetricsPort))
	}
}

// mount sets the mount paths of a container.
func (c Cluster) mount(container *corev1.Container) {
	for i := range container.VolumeMounts {
		switch v := &container.VolumeMounts[i]; v.Name {
		case "config":
			v.MountPath = c.mounts() + "/config"
		case "tls":
			v.MountPath = c.PodPaths().TLS
		case "data":
			v.MountPath = dataMount
		}
	}
}
