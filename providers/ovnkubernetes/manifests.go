package ovnkubernetes

import (
	"cmp"
	"embed"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkv1 "github.com/cluster-network-operator/cno/api/network/v1"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

//go:embed assets
var assets embed.FS

// Render returns the objects of a defaulted specification. It omits a DaemonSet that has to wait for the other one; the existing DaemonSet stays unchanged.
func (o observed) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	out, err := o.render(spec, f)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render OVN-Kubernetes: %w", err)
	}
	return out, nil
}

func (o observed) render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	image, err := f.Images.Get(Image, "OVN-Kubernetes")
	if err != nil {
		return provider.Output{}, err
	}
	c := settings(spec)
	if c.MTU == nil || c.GenevePort == nil {
		return provider.Output{}, errors.New("the specification is not filled: it lacks the MTU or the port of Geneve")
	}
	data, err := configuration(spec, f)
	if err != nil {
		return provider.Output{}, err
	}
	mtu, err := addMTU(data, o.currentMTU, spec, f.MTUMigration)
	if err != nil {
		return provider.Output{}, err
	}
	turn := next(o.master, o.node, f.ReleaseVersion, data[agentconfig.KeyClusterNetwork])
	list := manifest.List{Assets: assets}
	addFoundation(&list, data)
	pods := podSettings{image: image, env: environment(spec, f), data: data}
	if !turn.holdMaster {
		manifest.AddAsset(&list, "master", func(d *appsv1.DaemonSet) {
			// Masters use only their own southbound database.
			pods.set(d, agentconfig.KeyClusterNetwork, agentconfig.KeyServiceNetwork, agentconfig.KeyAPIServer)
		})
	}
	if !turn.holdNode {
		manifest.AddAsset(&list, "node", func(d *appsv1.DaemonSet) {
			pods.set(d, agentconfig.KeyClusterNetwork, agentconfig.KeyServiceNetwork, agentconfig.KeyAPIServer, agentconfig.KeySouth)
			mountSyslog(&d.Spec.Template.Spec, audit(spec).Destination)
		})
	}
	phase, waiting := nextPhase(wantsIPsec(spec), o.ipsec)
	if phase != "" {
		addIPsec(&list, spec, phase, pods)
	}
	addMetrics(&list, f, phase != "")
	objects, err := list.Result()
	if err != nil {
		return provider.Output{}, err
	}
	out := provider.Output{Objects: objects, MTU: mtu, Waiting: cmp.Or(turn.why, waiting)}
	if phase != "" {
		out.Problems, out.Again = o.ipsec.problems(), ipsecSteadyInterval
	}
	if waiting != "" {
		out.Again = ipsecChangingInterval
	}
	return out, nil
}

// addFoundation adds the objects that the pods depend on.
func addFoundation(list *manifest.List, data map[string]string) {
	manifest.AddAsset[corev1.Namespace](list, "namespace", nil)
	for _, role := range []string{"master", "node"} {
		manifest.AddAsset[corev1.ServiceAccount](list, "serviceaccount-"+role, nil)
		manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-"+role, nil)
		manifest.AddAsset[rbacv1.ClusterRoleBinding](list, "clusterrolebinding-"+role, nil)
	}
	for _, role := range []string{"leader", "node-report"} {
		manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-"+role, nil)
		manifest.AddAsset[rbacv1.RoleBinding](list, "rolebinding-"+role, nil)
	}
	manifest.AddAsset[networkv1.OperatorPKI](list, "operatorpki", nil)
	list.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, Data: data})
}

// podSettings has the values that the pods of the DaemonSets share.
type podSettings struct {
	image string
	env   []corev1.EnvVar
	data  map[string]string
}

// set completes a DaemonSet. Its pods restart when one of keys in the ConfigMap changes.
func (p podSettings) set(d *appsv1.DaemonSet, keys ...string) {
	d.Annotations[poolsAnnotation] = p.data[agentconfig.KeyClusterNetwork]
	d.Spec.Template.Annotations = map[string]string{configHash: hash(p.data, keys)}
	pod := &d.Spec.Template.Spec
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			list[i].Image = p.image
			list[i].Env = append(list[i].Env, p.env...)
		}
	}
}
