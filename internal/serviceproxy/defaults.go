package serviceproxy

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// defaultSyncPeriod is how often kube-proxy goes over its rules without a reason. It is kube-proxy's own.
const defaultSyncPeriod = 30 * time.Second

// Default makes explicit whether the component kube-proxy is deployed, and, if the operator runs kube-proxy, its bind address, its period, its
// mode, and the bridge by which it recognizes pods. The mode is nftables where the oldest kernel is new enough for it, or not known, and
// iptables elsewhere; once recorded, it stays until the user names another one.
func Default(spec, prev *operatorv1.NetworkSpec, t provider.Traits, f facts.Cluster) *operatorv1.NetworkSpec {
	out := spec.DeepCopy()
	deploy := Deployed(spec, t)
	out.DeployKubeProxy = &deploy
	if !runs(spec, t) {
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
	if len(settings.ProxyArguments[ModeArgument]) == 0 {
		mode := defaultMode(f)
		if prev != nil && runs(prev, t) && prev.KubeProxyConfig != nil && len(prev.KubeProxyConfig.ProxyArguments[ModeArgument]) == 1 {
			mode = prev.KubeProxyConfig.ProxyArguments[ModeArgument][0]
		}
		settings.ProxyArguments[ModeArgument] = osv1.ProxyArgumentList{mode}
	}
	if t.KubeProxy.LocalBridge != "" && !recognizes(settings) {
		settings.ProxyArguments[localArgument] = osv1.ProxyArgumentList{string(localBridgeInterface)}
		settings.ProxyArguments[bridgeArgument] = osv1.ProxyArgumentList{t.KubeProxy.LocalBridge}
	}
	return out
}

// The arguments that say how kube-proxy recognizes pods of its node.
const (
	localArgument  = "detect-local-mode"
	bridgeArgument = "pod-bridge-interface"
)

// recognizes reports whether arguments say how kube-proxy recognizes pods of its node.
func recognizes(settings *osv1.ProxyConfig) bool {
	for _, name := range []string{localArgument, bridgeArgument, "pod-interface-name-prefix", "cluster-cidr"} {
		if len(settings.ProxyArguments[name]) > 0 {
			return true
		}
	}
	return false
}

// bindAddress is what the argument says, else all addresses of the family of the first pool.
func bindAddress(spec *operatorv1.NetworkSpec, settings *osv1.ProxyConfig) string {
	var said Config
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
	var said Config
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
		return ModeNFTables
	}
	return ModeIPTables
}
