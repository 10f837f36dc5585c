package flannel

import (
	"errors"
	"fmt"
	"net/netip"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	agentKey   = record.AgentKey
	healthPort = 19099
	procSys    = "/host/proc/sys"
	tlsDir     = "/etc/flannel-etcd/tls"
)

// etcdSettings returns the settings of the operator's controller.
func etcdSettings(e *operatorv1.FlannelEtcd, f facts.Cluster) (record.Settings, error) {
	if x := orZero(e).External; x != nil {
		return record.Settings{Settings: etcdcluster.Settings{External: new(externalEtcd(x))}}, nil
	}
	m := orZero(orZero(e).Managed)
	if m.ClientPort == nil || m.PeerPort == nil {
		return record.Settings{}, errors.New("the specification is not filled: the ports of the managed etcd are missing")
	}
	image, err := f.Images.Get(record.EtcdImage, "flannel's etcd")
	if err != nil {
		return record.Settings{}, err
	}
	return record.Settings{Settings: etcdcluster.Settings{Managed: &etcdcluster.Managed{
		ClientPort: uint16(*m.ClientPort), PeerPort: uint16(*m.PeerPort), Image: image,
	}}}, nil
}

// agentConfig returns the configuration of the agents.
func agentConfig(spec *operatorv1.NetworkSpec, etcd record.Settings, m etcdcluster.Membership) (agentconfig.Config, error) {
	c, out := settings(spec), agentconfig.Default()
	if len(spec.ClusterNetwork) != 1 || c.MTU == nil || c.Etcd == nil {
		return out, errors.New("the specification is not filled: it lacks the pool, the MTU or the etcd")
	}
	network, err := netip.ParsePrefix(spec.ClusterNetwork[0].CIDR)
	if err != nil {
		return out, fmt.Errorf("%s: %w", clusterPath.Index(0).Child("cidr"), err)
	}
	out.Network = agentconfig.Network{IPv4: network, IPv4SubnetLen: int(spec.ClusterNetwork[0].HostPrefix)}
	out.Etcd = agentconfig.Etcd{Endpoints: etcd.Endpoints(m), Prefix: c.Etcd.Prefix}
	out.Etcd.OwnCertificate = etcd.Managed != nil
	if etcd.Encrypted() {
		out.Etcd.CAFile = tlsDir + "/" + etcdcluster.BundleKey
	}
	if etcd.Managed != nil || etcd.External.ClientSecret != "" {
		out.Etcd.CertFile, out.Etcd.KeyFile = tlsDir+"/tls.crt", tlsDir+"/tls.key"
	}
	out.Backend.Type = string(c.Backend)
	if c.VXLAN != nil && c.Backend == operatorv1.FlannelBackendVXLAN {
		out.Backend.VNI, out.Backend.Port = int(*orZero(c.VXLAN.VNI)), int(*orZero(c.VXLAN.Port))
	}
	out.Interface, out.MTU, out.ProcSys = c.Interface, int(*c.MTU), procSys
	out.CNI.MultiNetwork = spec.MultiNetworkEnabled()
	return out, nil
}

// addFoundation adds the namespace, permissions and configuration that the agents and the operator's controller depend on.
func addFoundation(list *manifest.List, etcd record.Settings, config agentconfig.Config) {
	manifest.AddAsset[corev1.Namespace](list, "namespace", nil)
	manifest.AddAsset[rbacv1.RoleBinding](list, "rolebinding", nil)
	manifest.AddAsset[corev1.ServiceAccount](list, "serviceaccount", nil)
	if config.Etcd.OwnCertificate {
		manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole", nil)
		manifest.AddAsset[rbacv1.ClusterRoleBinding](list, "clusterrolebinding", nil)
	}
	agent, err := config.Encode()
	if err != nil {
		list.Fail(err)
	}
	loop, err := etcd.Encode()
	if err != nil {
		list.Fail(err)
	}
	list.Add(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: record.ConfigMap},
		Data:       map[string]string{agentKey: string(agent), record.SettingsKey: loop},
	})
}

// addAgents adds the DaemonSet. Its pods read their configuration at startup, so they have an annotation with its hash; they reload certificates.
func addAgents(list *manifest.List, image, level string, config agentconfig.Config, api facts.HostPort) {
	content, err := config.Encode()
	if err != nil {
		list.Fail(err)
	}
	manifest.AddAsset(list, "flanneld", func(d *appsv1.DaemonSet) {
		template := &d.Spec.Template
		template.Annotations = map[string]string{etcdcluster.ConfigHash: etcdcluster.Hash(string(content))}
		template.Spec.InitContainers[0].Image = image
		template.Spec.Containers[0].Image = image
		template.Spec.Containers[0].Command = append(template.Spec.Containers[0].Command, "--log-level", level)
		if config.Migration != nil {
			mtumigration.EnterPods(&template.Spec)
		}
		if config.Etcd.OwnCertificate {
			template.Spec.AutomountServiceAccountToken = new(true)
			template.Spec.Containers[0].Env = append(template.Spec.Containers[0].Env, api.Env()...)
		}
		if config.Etcd.CAFile == "" {
			return
		}
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: "etcd-tls", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: record.Etcd.ClientSecret(), DefaultMode: new(int32(0o400))},
		}})
		agent := &template.Spec.Containers[0]
		agent.VolumeMounts = append(agent.VolumeMounts, corev1.VolumeMount{Name: "etcd-tls", MountPath: tlsDir, ReadOnly: true})
	})
}

// agentLevel returns the log level of agents; debug is the most verbose one.
func agentLevel(l osv1.LogLevel) string {
	if l == "" || l == osv1.Normal {
		return "info"
	}
	return "debug"
}
