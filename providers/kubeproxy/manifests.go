package kubeproxy

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
)

//go:embed assets/*.yaml
var assets embed.FS

const (
	// ConfigKey is the key of the ConfigMap proxy-config with the configuration of the init container.
	ConfigKey = "kube-proxy-config.yaml"
	// UnprivilegedConfigKey is the key of the same ConfigMap with the configuration of the long-running container.
	UnprivilegedConfigKey = "kube-proxy-unprivileged-config.yaml"
	// hashAnnotation is the pod annotation with a hash of the configuration. Pods restart when it changes.
	hashAnnotation = "networkoperator.openshift.io/config-hash"
)

type renderer struct{}

// Render returns the objects of kube-proxy, in the order of application.
func (renderer) Render(spec *operatorv1.NetworkSpec, f facts.Cluster) (provider.Output, error) {
	c, err := serviceproxy.Configuration(spec, MetricsPort, f.KeepConntrackMax)
	if err != nil {
		return provider.Output{}, err
	}
	text, err := serviceproxy.Encode(c)
	if err != nil {
		return provider.Output{}, err
	}
	running, err := serviceproxy.Encode(serviceproxy.Unprivileged(c))
	if err != nil {
		return provider.Output{}, err
	}
	upstream, err := serviceproxy.MetricsUpstream(c)
	if err != nil {
		return provider.Output{}, err
	}
	image, err := f.Images.Get(ImageVariable, "kube-proxy")
	if err != nil {
		return provider.Output{}, err
	}
	own, err := f.Images.Get(facts.OperatorImage, "the check of the kernel before kube-proxy starts")
	if err != nil {
		return provider.Output{}, err
	}
	out := manifest.List{Assets: assets}
	manifest.AddAsset[corev1.Namespace](&out, "namespace", nil)
	manifest.AddAsset[corev1.ServiceAccount](&out, "serviceaccount", nil)
	manifest.AddAsset[rbacv1.ClusterRole](&out, "clusterrole", nil)
	manifest.AddAsset[rbacv1.ClusterRoleBinding](&out, "clusterrolebinding", nil)
	manifest.AddAsset(&out, "configmap", func(m *corev1.ConfigMap) { m.Data = map[string]string{ConfigKey: text, UnprivilegedConfigKey: running} })
	manifest.AddAsset(&out, "daemonset", func(d *appsv1.DaemonSet) { setDaemonSet(d, image, text, f.APIServer); setCheck(d, own, c, spec) })
	out.Append(metricsproxy.Objects(metricsproxy.Options{
		Namespace: Namespace, Name: metricsName, Image: own, Env: f.APIServer.Env(), TLS: f.TLS,
		Endpoints: []metricsproxy.Endpoint{{App: appName, Port: metricsproxy.KubeProxyPort, Upstream: upstream}},
	}))
	objects, err := out.Result()
	if err != nil {
		return provider.Output{}, fmt.Errorf("render kube-proxy: %w", err)
	}
	return provider.Output{Objects: objects}, nil
}

func setDaemonSet(d *appsv1.DaemonSet, image, config string, api facts.HostPort) {
	hash := sha256.Sum256([]byte(config))
	d.Spec.Template.Annotations[hashAnnotation] = hex.EncodeToString(hash[:8])
	pod := &d.Spec.Template.Spec
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			containers[i].Image = image // except for setCheck
			containers[i].Env = append(containers[i].Env, api.Env()...)
		}
	}
}

// setCheck configures the first init container, which checks that the kernel supports the mode, and that the API server responds.
func setCheck(d *appsv1.DaemonSet, image string, c *serviceproxy.Config, spec *operatorv1.NetworkSpec) {
	check := &d.Spec.Template.Spec.InitContainers[0]
	check.Image, check.Args = image, serviceproxy.CheckArguments(c, spec)
}
