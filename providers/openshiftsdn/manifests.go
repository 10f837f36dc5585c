package openshiftsdn

import (
	"embed"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/api/crds"
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/mtumigration"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

//go:embed assets
var assets embed.FS

const (
	proxyImage     = serviceproxy.ImageVariable
	clusterNetwork = sdnv1.ClusterNetworkDefault
	// configHash is the pod annotation with a hash of the configuration. Pods restart when it changes.
	configHash = "networkoperator.openshift.io/config-hash"
	// proxyContainer is the name prefix of the containers that run kube-proxy. checkContainer checks the kernel before kube-proxy starts. installContainer
	// copies the CNI plugins.
	proxyContainer, checkContainer, installContainer = "kube-proxy", "check-kernel", "install-cni"
)

var clusterPath = field.NewPath("spec", "clusterNetwork")

// Render returns the objects of a defaulted specification. It omits a DaemonSet that has to wait for another one; the existing DaemonSet stays unchanged.
func (o observed) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	out, err := o.render(spec, f)
	if err != nil {
		return provider.Output{}, fmt.Errorf("render OpenShift SDN: %w", err)
	}
	return out, nil
}

func (o observed) render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	p := pods{api: f.APIServer, platform: f.Platform, ownProxy: spec.DeployKubeProxy == nil || !*spec.DeployKubeProxy}
	var err error
	if p.image, err = f.Images.Get(Image, "OpenShift SDN"); err != nil {
		return provider.Output{}, err
	}
	if p.proxy, err = serviceproxy.Configuration(spec, agentconfig.ProxyMetricsPort, f.KeepConntrackMax); err != nil {
		return provider.Output{}, err
	}
	if p.ownProxy {
		if p.proxyImage, err = f.Images.Get(proxyImage, "kube-proxy in the pods of OpenShift SDN"); err != nil {
			return provider.Output{}, err
		}
		if p.operatorImage, err = f.Images.Get(facts.OperatorImage, "the check of the kernel before kube-proxy starts"); err != nil {
			return provider.Output{}, err
		}
		p.check = serviceproxy.CheckArguments(p.proxy, spec)
	}
	c, err := configuration(spec, p.proxy, o.openShift || f.Platform != "" && f.Platform != "None")
	if err != nil {
		return provider.Output{}, err
	}
	record := map[string]string{}
	if p.mtu, err = mtumigration.Render(o.currentMTU, c.MTU, spec, f.MTUMigration, record); err != nil {
		return provider.Output{}, err
	}
	c.MTU, c.Migration = p.mtu.MTU, p.mtu.Migration("")
	if p.data, err = files(c, p.proxy); err != nil {
		return provider.Output{}, err
	}
	maps.Copy(p.data, record)
	turn := next(o.sets, f.ReleaseVersion)
	list := manifest.List{Assets: assets}
	addFoundation(&list, c)
	list.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agentconfig.Namespace, Name: agentconfig.ConfigMap}, Data: p.data})
	if !c.ExternalSwitch && !turn.hold[agentconfig.Switch] {
		manifest.AddAsset(&list, agentconfig.Switch, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = p.image })
	}
	if !turn.hold[agentconfig.Node] {
		manifest.AddAsset(&list, agentconfig.Node, func(d *appsv1.DaemonSet) { list.Fail(p.setNode(d)) })
	}
	if !turn.hold[agentconfig.Controller] {
		manifest.AddAsset(&list, agentconfig.Controller, p.setController)
	}
	if err := p.addMetrics(&list, f); err != nil {
		return provider.Output{}, err
	}
	objects, err := list.Result()
	if err != nil {
		return provider.Output{}, err
	}
	result := provider.Output{Objects: objects, MTU: c.MTU, Waiting: turn.why, Failures: o.exhausted(c), Notes: notes(spec)}
	if len(result.Failures) > 0 {
		result.Again = blocksInterval
	}
	return result, nil
}

// reasonUnenforced is the reason of the note of modes that ignore NetworkPolicies.
const reasonUnenforced = "NetworkPoliciesNotEnforced"

// notes returns a note if the mode ignores NetworkPolicies, which the API server accepts in every mode.
func notes(spec *operatorv1.NetworkSpec) []provider.Note {
	why := unenforced(mode(spec))
	if why == "" {
		return nil
	}
	return []provider.Note{{Reason: reasonUnenforced, Message: fmt.Sprintf("%s; to enforce them, create a cluster with mode %s, or with network type %s",
		why, osv1.SDNModeNetworkPolicy, operatorv1.NetworkTypeOVNKubernetes)}}
}

// files returns the data of the ConfigMap.
func files(c agentconfig.Config, proxy *serviceproxy.Config) (map[string]string, error) {
	own, err := c.Encode()
	if err != nil {
		return nil, err
	}
	all, err := serviceproxy.Encode(proxy)
	if err != nil {
		return nil, err
	}
	running, err := serviceproxy.Encode(serviceproxy.Unprivileged(proxy))
	if err != nil {
		return nil, err
	}
	return map[string]string{agentconfig.FileName: string(own), agentconfig.ProxyFile: all, unprivilegedFile: running}, nil
}

// crdNames returns the names of the CRDs.
func crdNames() []string {
	all, err := crds.OpenShiftSDN()
	if err != nil {
		panic(err) // the CRDs are embedded in the binary
	}
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names
}

// addFoundation adds the objects that the pods depend on: permissions, CRDs and custom resources.
func addFoundation(list *manifest.List, c agentconfig.Config) {
	manifest.AddAsset[corev1.Namespace](list, "namespace", nil)
	definitions, err := crds.OpenShiftSDN()
	list.Fail(err)
	for _, d := range definitions {
		list.Add(d)
	}
	roles := []string{"sdn", "controller"}
	if c.EnableUnidling && !c.OpenShift {
		roles = append(roles, "unidling")
	}
	for _, role := range roles {
		manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-"+role, nil)
		manifest.AddAsset[rbacv1.ClusterRoleBinding](list, "clusterrolebinding-"+role, nil)
	}
	manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-leader", nil)
	manifest.AddAsset[rbacv1.ClusterRole](list, "clusterrole-readers", nil)
	manifest.AddAsset[rbacv1.RoleBinding](list, "rolebinding-leader", nil)
	for _, account := range []string{agentconfig.Node, agentconfig.Controller} {
		manifest.AddAsset[corev1.ServiceAccount](list, "serviceaccount-"+account, nil)
	}
	manifest.AddAsset[flowcontrolv1.FlowSchema](list, "flowschema", nil)
	list.Add(networkObject(c))
	// An administrator may change the VNIDs later.
	once := manifest.List{Policy: manifest.Policy{CreateOnly: true}}
	for _, n := range netNamespaces(c) {
		once.Add(n)
	}
	list.Append(once.Result())
}

// pods has the values that the pods share.
type pods struct {
	image, proxyImage, operatorImage string
	api                              facts.HostPort
	// platform is facts.Cluster.Platform, empty if it is unknown.
	platform string
	proxy    *serviceproxy.Config
	// ownProxy is true if kube-proxy runs in the pods of agents. check has the arguments of the kernel check that runs before it.
	ownProxy bool
	check    []string
	data     map[string]string
	// mtu is the MTU state that agents must have reached to be ready.
	mtu mtumigration.State
}

// setNode completes the DaemonSet of agents.
func (p pods) setNode(d *appsv1.DaemonSet) error {
	content := []string{p.data[agentconfig.FileName]}
	pod := &d.Spec.Template.Spec
	if p.ownProxy {
		content = append(content, p.data[agentconfig.ProxyFile])
	} else {
		ofProxy := func(c corev1.Container) bool {
			return strings.HasPrefix(c.Name, proxyContainer) || c.Name == checkContainer
		}
		pod.InitContainers = slices.DeleteFunc(pod.InitContainers, ofProxy)
		pod.Containers = slices.DeleteFunc(pod.Containers, ofProxy)
	}
	mtu, err := p.mtu.Encode()
	if err != nil {
		return err
	}
	d.Spec.Template.Annotations = map[string]string{configHash: hash(content...), mtumigration.Annotation: mtu}
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name == installContainer {
				c.Image = p.image
				continue
			}
			c.Env = append(c.Env, p.api.Env()...)
			switch c.Name {
			case agentconfig.Node:
				c.Image = p.image
			case checkContainer:
				c.Image, c.Args = p.operatorImage, p.check
			default:
				c.Image = p.proxyImage
			}
		}
	}
	return nil
}

// setController completes the DaemonSet of controllers.
func (p pods) setController(d *appsv1.DaemonSet) {
	d.Spec.Template.Annotations = map[string]string{configHash: hash(p.data[agentconfig.FileName])}
	c := &d.Spec.Template.Spec.Containers[0]
	c.Image, c.Env = p.image, append(c.Env, p.api.Env()...)
	if p.platform != "" {
		c.Command = append(c.Command, "--platform-type="+p.platform)
	}
}

// addMetrics adds the proxies for the metrics of agents, controllers and the kube-proxy in the pods of agents. They run the operator's image. If that image is
// unknown, they are omitted: the network does not depend on them.
func (p pods) addMetrics(list *manifest.List, f facts.Cluster) error {
	image, err := f.Images.Get(facts.OperatorImage, "OpenShift SDN's metrics")
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	endpoints := []metricsproxy.Endpoint{
		{App: agentconfig.Node, Port: metricsproxy.SDNNodePort, Upstream: netip.MustParseAddrPort(agentconfig.HealthNode)},
		{App: agentconfig.Controller, Port: metricsproxy.SDNControllerPort, Upstream: netip.MustParseAddrPort(agentconfig.HealthController)},
	}
	if p.ownProxy {
		upstream, err := serviceproxy.MetricsUpstream(p.proxy)
		if err != nil {
			return err
		}
		endpoints = append(endpoints, metricsproxy.Endpoint{App: agentconfig.Node, Name: proxyContainer, Port: metricsproxy.KubeProxyPort, Upstream: upstream})
	}
	list.Append(metricsproxy.Objects(metricsproxy.Options{
		Namespace: agentconfig.Namespace, Name: metricsName, Image: image, Env: f.APIServer.Env(), TLS: f.TLS, Endpoints: endpoints,
	}))
	return nil
}
