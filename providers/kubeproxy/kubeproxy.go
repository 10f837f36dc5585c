// Package kubeproxy deploys Kubernetes' own service proxy beside a network that does not serve services itself, or
// wherever spec.deployKubeProxy asks for it.
//
// kube-proxy gets a configuration object, not flags. spec.kubeProxyConfig.proxyArguments has the names of the flags
// of kube-proxy all the same; each is translated into the field it stands for, or refused by name.
package kubeproxy

import (
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// Name is the name of the component in conditions.
	Name = "KubeProxy"
	// Namespace is where kube-proxy runs.
	Namespace = "openshift-kube-proxy"
	// ImageVariable is the environment variable of the operator that names the image.
	ImageVariable = "KUBE_PROXY_IMAGE"

	// HealthzPort is where kube-proxy answers probes, and load balancers that ask whether a node can take traffic,
	// on all addresses of a node. It is kube-proxy's own default.
	HealthzPort = 10256
	// MetricsPort is where kube-proxy serves metrics, on the loopback address of a node alone. It is the port that
	// OpenShift uses. Proxies serve them on another port to authorized clients.
	MetricsPort = 29102

	// appName is the label app of kube-proxy's pods, metricsName that of the proxies of its metrics.
	appName, metricsName = "kube-proxy", "kube-proxy-metrics"

	// kubeProxyVersion is the version of kube-proxy whose flags and fields this package knows.
	kubeProxyVersion = "1.36"
)

// Component is kube-proxy as a component. The zero value is ready for use.
type Component struct{}

// New returns the component.
func New() provider.Component { return Component{} }

// Name is KubeProxy.
func (Component) Name() string { return Name }

// Enabled reports whether spec.deployKubeProxy is true. It is always set in a filled specification.
func (Component) Enabled(spec *operatorv1.NetworkSpec) bool {
	return spec.DeployKubeProxy != nil && *spec.DeployKubeProxy
}

// wanted is Enabled for a specification that is not filled.
func wanted(spec *operatorv1.NetworkSpec, t provider.Traits) bool {
	if spec.DeployKubeProxy != nil {
		return *spec.DeployKubeProxy
	}
	return !t.ServiceProxy
}
