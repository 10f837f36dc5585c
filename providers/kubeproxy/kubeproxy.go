// Package kubeproxy deploys Kubernetes' kube-proxy for a network that does not implement Services itself, or if spec.deployKubeProxy is true.
//
// Package serviceproxy has its settings.
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
	// Namespace is the namespace of kube-proxy.
	Namespace = "openshift-kube-proxy"
	// ImageVariable is the operator's environment variable with the image.
	ImageVariable = serviceproxy.ImageVariable

	// MetricsPort is the port for metrics on the loopback address of a node. It is the same as in OpenShift. The metrics proxies serve them on another port to
	// authorized clients.
	MetricsPort = 29102

	// appName is the value of the label app of kube-proxy's pods, metricsName the name of the DaemonSet of metrics proxies.
	appName, metricsName = "kube-proxy", "kube-proxy-metrics"
)

// Component is kube-proxy as a component. The zero value is ready for use.
type Component struct{}

// New returns the component.
func New() provider.Component { return Component{} }

// Name returns KubeProxy.
func (Component) Name() string { return Name }

// Enabled reports whether spec.deployKubeProxy is true. It is always set in a defaulted specification.
func (Component) Enabled(spec *operatorv1.NetworkSpec) bool {
	return spec.DeployKubeProxy != nil && *spec.DeployKubeProxy
}

// Validate validates spec.kubeProxyConfig.
func (Component) Validate(spec *operatorv1.NetworkSpec, t provider.Traits) field.ErrorList {
	return serviceproxy.Validate(spec, t)
}
