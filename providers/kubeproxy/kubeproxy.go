// Package kubeproxy deploys Kubernetes' own service proxy beside a network that does not serve services itself, or
// wherever spec.deployKubeProxy asks for it.
//
// Its settings are those of package serviceproxy.
package kubeproxy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
)

const (
	// Name is the name of the component in conditions.
	Name = "KubeProxy"
	// Namespace is where kube-proxy runs.
	Namespace = "openshift-kube-proxy"
	// ImageVariable is the environment variable of the operator that names the image.
	ImageVariable = serviceproxy.ImageVariable

	// MetricsPort is where kube-proxy serves metrics, on the loopback address of a node alone. It is the port that
	// OpenShift uses. Proxies serve them on another port to authorized clients.
	MetricsPort = 29102

	// appName is the label app of kube-proxy's pods, metricsName that of the proxies of its metrics.
	appName, metricsName = "kube-proxy", "kube-proxy-metrics"
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

// Validate checks spec.kubeProxyConfig.
func (Component) Validate(spec *operatorv1.NetworkSpec, t provider.Traits) field.ErrorList {
	return serviceproxy.Validate(spec, t)
}
