package flannel

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// memberLabel tells the pods of one member from those of the others. Its value is a hash, since names of nodes may be
// longer than labels.
const memberLabel = "networkoperator.openshift.io/etcd-member"

func managedDirectory(spec *operatorv1.NetworkSpec) string { return managed(settings(spec)).DataDir }

// addMembers adds the Deployment of each member that runs. The configuration is not part of what makes a pod start
// again: all that ever changes in it counts only for a member that has no data yet.
func addMembers(list *manifest.List, m record.Membership, directory string) {
	for _, member := range m.Members {
		if !member.Runs() {
			continue
		}
		config, err := m.EtcdConfig(member, record.PodPaths())
		if err != nil {
			list.Fail(err)
			return
		}
		all, err := m.Encode()
		if err != nil {
			list.Fail(err)
			return
		}
		list.Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.MemberDeployment(member.Node),
				Labels: map[string]string{record.CopyLabel: "true"}},
			Data: map[string]string{"etcd.yaml": config, record.MembersKey: all},
		})
		manifest.AddAsset(list, "etcd", func(d *appsv1.Deployment) { setMember(d, member, directory) })
	}
}

func setMember(d *appsv1.Deployment, member record.Member, directory string) {
	d.Name = record.MemberDeployment(member.Node)
	labels := map[string]string{"app": d.Spec.Template.Labels["app"], memberLabel: record.Hash(member.Node)}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	template := &d.Spec.Template
	template.Labels = labels
	template.Annotations = map[string]string{record.ConfigHash: member.PodHash()}
	// By the name of the node, and not by the label kubernetes.io/hostname, which may differ from it.
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{member.Node}}},
		}}},
	}}
	template.Spec.Containers[0].Image = member.Image
	for i := range template.Spec.Volumes {
		switch v := &template.Spec.Volumes[i]; v.Name {
		case "config":
			v.ConfigMap.Name = d.Name
			v.ConfigMap.Items = []corev1.KeyToPath{{Key: "etcd.yaml", Path: "etcd.yaml"}}
		case "tls":
			v.Secret.SecretName = record.MemberSecret(member.Node)
		case "data":
			v.HostPath.Path = directory
		}
	}
}
