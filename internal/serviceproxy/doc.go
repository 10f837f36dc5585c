// Package serviceproxy is the settings of Kubernetes' own service proxy, kube-proxy: what spec.kubeProxyConfig may have, its defaults, and the
// configuration objects that kube-proxy reads. The component kube-proxy uses it, and the networks that run kube-proxy in pods of their own.
// It is pure.
//
// kube-proxy gets a configuration object, not flags. spec.kubeProxyConfig.proxyArguments has the names of the flags
// of kube-proxy all the same; each is translated into the field it stands for, or refused by name.
package serviceproxy

import (
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// ImageVariable is the environment variable of the operator that names the image of kube-proxy.
	ImageVariable = "KUBE_PROXY_IMAGE"
	// HealthzPort is where kube-proxy answers probes, and load balancers that ask whether a node can take traffic,
	// on all addresses of a node. It is kube-proxy's own default.
	HealthzPort = 10256
	// ModeArgument is the argument that the mode is recorded in: the specification has no field for it.
	ModeArgument = "proxy-mode"

	// kubeProxyVersion is the version of kube-proxy whose flags and fields this package knows.
	kubeProxyVersion = "1.36"
)

// The modes.
const (
	ModeNFTables = "nftables"
	ModeIPTables = "iptables"
	ModeIPVS     = "ipvs"
)

// Config is what kube-proxy reads.
type Config = kubeproxyv1alpha1.KubeProxyConfiguration

// Deployed reports whether the component kube-proxy is deployed by a specification, which need not be filled.
func Deployed(spec *operatorv1.NetworkSpec, t provider.Traits) bool {
	if spec.DeployKubeProxy != nil {
		return *spec.DeployKubeProxy
	}
	return !t.ServiceProxy
}

// runs reports whether the operator runs kube-proxy by a specification, as a component or in pods of the network.
func runs(spec *operatorv1.NetworkSpec, t provider.Traits) bool {
	return t.KubeProxy.Own || Deployed(spec, t)
}
