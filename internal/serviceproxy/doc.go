// Package serviceproxy validates and defaults spec.kubeProxyConfig, and renders the configuration objects of kube-proxy, the service proxy of
// Kubernetes. The component kube-proxy uses it, and so do networks that run kube-proxy in their own pods. It is pure.
//
// kube-proxy gets a configuration object, not flags. spec.kubeProxyConfig.proxyArguments nevertheless has the names of the
// flags of kube-proxy; each is translated into its field, or refused by name.
package serviceproxy

import (
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// ImageVariable is the environment variable of the operator that names the image of kube-proxy.
	ImageVariable = "KUBE_PROXY_IMAGE"
	// HealthzPort is the port, on all addresses of a node, on which kube-proxy answers probes and the health checks of load
	// balancers. It is kube-proxy's own default.
	HealthzPort = 10256
	// ModeArgument is the argument in which the mode is recorded: the specification has no field for it.
	ModeArgument = "proxy-mode"

	// kubeProxyVersion is the version of kube-proxy whose flags and fields this package supports.
	kubeProxyVersion = "1.36"
)

// The modes.
const (
	ModeNFTables = "nftables"
	ModeIPTables = "iptables"
	ModeIPVS     = "ipvs"
)

// Config is the configuration of kube-proxy.
type Config = kubeproxyv1alpha1.KubeProxyConfiguration

// Deployed reports whether a specification, which need not be filled, deploys the component kube-proxy.
func Deployed(spec *operatorv1.NetworkSpec, t provider.Traits) bool {
	if spec.DeployKubeProxy != nil {
		return *spec.DeployKubeProxy
	}
	return !t.ServiceProxy
}

// runs reports whether the operator runs kube-proxy with a specification, as a component or in pods of the network.
func runs(spec *operatorv1.NetworkSpec, t provider.Traits) bool {
	return t.KubeProxy.Own || Deployed(spec, t)
}
