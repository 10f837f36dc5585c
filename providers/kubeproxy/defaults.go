package kubeproxy

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const (
	// defaultSyncPeriod is how often kube-proxy goes over its rules without a reason. It is kube-proxy's own.
	defaultSyncPeriod = 30 * time.Second
	// modeArgument is the argument that the mode is recorded in: the specification has no field for it.
	modeArgument = "proxy-mode"

	modeNFTables = "nftables"
	modeIPTables = "iptables"
	modeIPVS     = "ipvs"
)

// Default makes explicit whether kube-proxy is deployed, and if so its bind address, its period and its mode. The
// mode is nftables where the oldest kernel is new enough for it, or not known, and iptables elsewhere; once
// recorded, it stays until the user names another one.
func (c Component) Default(spec, prev *operatorv1.NetworkSpec, t provider.Traits, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	deploy := wanted(spec, t)
	out.DeployKubeProxy = &deploy
	if !deploy {
		return out
	}
	if out.KubeProxyConfig == nil {
		out.KubeProxyConfig = &osv1.ProxyConfig{}
	}
	settings := out.KubeProxyConfig
	if settings.ProxyArguments == nil {
		settings.ProxyArguments = map[string]osv1.ProxyArgumentList{}
	}
	if settings.BindAddress == "" {
		settings.BindAddress = bindAddress(spec, settings)
	}
	if settings.IptablesSyncPeriod == "" {
		settings.IptablesSyncPeriod = syncPeriod(settings)
	}
	if len(settings.ProxyArguments[modeArgument]) == 0 {
		mode := defaultMode(f)
		if prev != nil && c.Enabled(prev) && prev.KubeProxyConfig != nil && len(prev.KubeProxyConfig.ProxyArguments[modeArgument]) == 1 {
			mode = prev.KubeProxyConfig.ProxyArguments[modeArgument][0]
		}
		settings.ProxyArguments[modeArgument] = osv1.ProxyArgumentList{mode}
	}
	return out
}

// bindAddress is what the argument says, else all addresses of the family of the first pool.
func bindAddress(spec *operatorv1.NetworkSpec, settings *osv1.ProxyConfig) string {
	var said config
	apply(&said, arguments(settings), nil)
	switch {
	case said.BindAddress != "":
		return said.BindAddress
	case firstIsIPv6(spec):
		return "::"
	}
	return "0.0.0.0"
}

// syncPeriod is what the argument says, else the default.
func syncPeriod(settings *osv1.ProxyConfig) string {
	var said config
	apply(&said, arguments(settings), nil)
	if d := said.IPTables.SyncPeriod.Duration; d != 0 {
		return d.String()
	}
	return defaultSyncPeriod.String()
}

// nftablesKernel is the version of Linux before which kube-proxy refuses nftables.
func nftablesKernel() facts.KernelVersion { return facts.KernelVersion{Major: 5, Minor: 13} }

// defaultMode is the mode for the nodes that there are.
func defaultMode(f facts.Cluster) string {
	least := nftablesKernel()
	if unknown := f.OldestKernel == (facts.KernelVersion{}); unknown || f.OldestKernel.AtLeast(least.Major, least.Minor) {
		return modeNFTables
	}
	return modeIPTables
}
