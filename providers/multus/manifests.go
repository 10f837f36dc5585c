package multus

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/netaddr"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

//go:embed assets
var assets embed.FS

// configHash is the pod annotation with a hash of the configuration. Pods restart when it changes.
const configHash = "networkoperator.openshift.io/config-hash"

// Additional keys of the ConfigMap, which only the operator reads.
const (
	// recordKey has the names of the last rendered networks, from which removed ones are determined.
	recordKey = "additional-networks.json"
	// imageKey is the image of the daemons.
	imageKey = "image"
)

// Render returns the objects of daemons and networks, in the order of application. None of them is critical. Without an image the daemons keep their current
// one. If they have none, all other objects are rendered, and the output reports the missing image.
func (o observed) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	config, err := daemonConfig(spec, o.operands)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render multiple networks: %w", err)
	}
	config.WrapNetwork = o.thirdParty
	out := provider.Output{Problems: o.problems(), Again: o.requeueAfter()}
	image, err := f.Images.Get(ImageVariable, "the daemons of multiple networks")
	if err != nil {
		image, out.Unavailable = o.image, err.Error()
		if image != "" {
			out.Unavailable += "; until then nodes keep " + image
		}
	}
	networks, err := o.networks(spec)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render multiple networks: %w", err)
	}
	list := manifest.List{Assets: assets, Policy: manifest.Policy{NonCritical: true}}
	manifest.AddAsset[corev1.Namespace](&list, "namespace", nil)
	addCRDs(&list, o.foreign)
	manifest.AddAsset[rbacv1.ClusterRole](&list, "clusterrole", nil)
	manifest.AddAsset[rbacv1.ClusterRole](&list, "clusterrole-whereabouts", nil)
	manifest.AddAsset[rbacv1.ClusterRole](&list, "clusterrole-admin", nil)
	manifest.AddAsset[rbacv1.ClusterRoleBinding](&list, "clusterrolebinding", nil)
	manifest.AddAsset[rbacv1.RoleBinding](&list, "rolebinding-whereabouts", nil)
	manifest.AddAsset[corev1.ServiceAccount](&list, "serviceaccount", nil)
	addDaemon(&list, config, image, networks, f.APIServer)
	if image != "" {
		addMetrics(&list, config, f)
	}
	for _, n := range networks {
		list.Add(n.object())
	}
	if out.Objects, err = list.Result(); err != nil {
		return provider.Output{}, fmt.Errorf("render multiple networks: %w", err)
	}
	return out, nil
}

// daemonEnv returns the names of the daemons' environment variables that the operator sets.
func daemonEnv() []string {
	return []string{"NODE_NAME", "POD_NAME", "GOMEMLIMIT", facts.ServiceHostVariable, facts.ServicePortVariable}
}

// Names of the containers that enforce policies, and that remove their rules after policies are disabled. A pod has one of them.
const (
	enforcer = "multi-networkpolicy"
	remover  = "remove-policies"
)

// runtimeConfigs is the volume of the runtime's CNI configurations, which the daemon writes only for networks of third parties.
const runtimeConfigs = "cni-conf"

// addDaemon adds the configuration of the daemons and, with an image, the daemons. Their pods read it at startup, so they have an annotation with its hash.
func addDaemon(list *manifest.List, config agentconfig.Config, image string, networks []network, api facts.HostPort) {
	content, err := config.Encode()
	list.Fail(err)
	record, err := json.Marshal(keysOf(networks))
	list.Fail(err)
	data := map[string]string{agentconfig.FileName: string(content), recordKey: string(record)}
	if image != "" {
		data[imageKey] = image
	}
	list.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: configMap}, Data: data})
	if image == "" {
		return
	}
	manifest.AddAsset(list, "daemonset", func(d *appsv1.DaemonSet) {
		hash := sha256.Sum256(content)
		d.Spec.Template.Annotations = map[string]string{configHash: hex.EncodeToString(hash[:8])}
		pod := &d.Spec.Template.Spec
		unneeded := enforcer
		if config.Policies {
			unneeded = remover
		}
		isUnneeded := func(c corev1.Container) bool { return c.Name == unneeded }
		pod.InitContainers, pod.Containers = slices.DeleteFunc(pod.InitContainers, isUnneeded), slices.DeleteFunc(pod.Containers, isUnneeded)
		for i := range pod.InitContainers {
			pod.InitContainers[i].Image = image
		}
		for i := range pod.Containers {
			c := &pod.Containers[i]
			c.Image, c.Env = image, append(c.Env, api.Env()...)
			for j := range c.VolumeMounts {
				if m := &c.VolumeMounts[j]; m.Name == runtimeConfigs {
					m.ReadOnly = !config.WrapNetwork
				}
			}
		}
	})
}

// daemonConfig returns the configuration of the daemons.
func daemonConfig(spec *operatorv1.NetworkSpec, networks provider.Operands) (agentconfig.Config, error) {
	c, m := agentconfig.Default(), spec.MultiNetwork
	if m == nil || m.NamespaceIsolation == nil || len(m.GlobalNamespaces) == 0 || m.Attachments == "" {
		return c, errors.New("the specification is not filled: it lacks settings of spec.multiNetwork")
	}
	c.NamespaceIsolation, c.GlobalNamespaces, c.Attachments = *m.NamespaceIsolation, m.GlobalNamespaces, string(m.Attachments)
	if m.Restricted != nil {
		c.Masters = append(c.Masters, m.Restricted.Masters...)
	}
	c.Policies = spec.UseMultiNetworkPolicy != nil && *spec.UseMultiNetworkPolicy
	c.ReservedBridges, c.ReservedPlugins = append(c.ReservedBridges, networks.Bridges...), append(c.ReservedPlugins, networks.Plugins...)
	var err error
	c.ReservedNetworks, err = clusterNetworks(spec)
	return c, err
}

// clusterNetworks returns the CIDRs of pods and Services.
func clusterNetworks(spec *operatorv1.NetworkSpec) ([]netip.Prefix, error) {
	networks := []netip.Prefix{}
	add := func(cidr string) error {
		p, err := netaddr.ParseCIDR(cidr)
		networks = append(networks, p)
		return err
	}
	for i, e := range spec.ClusterNetwork {
		if err := add(e.CIDR); err != nil {
			return nil, fmt.Errorf("spec.clusterNetwork[%d].cidr: %w", i, err)
		}
	}
	for i, cidr := range spec.ServiceNetwork {
		if err := add(cidr); err != nil {
			return nil, fmt.Errorf("spec.serviceNetwork[%d]: %w", i, err)
		}
	}
	return networks, nil
}
