package serviceproxy

import (
	"time"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// defaultSyncPeriod is the interval at which kube-proxy syncs its rules without changes. It is kube-proxy's own default.
const defaultSyncPeriod = 30 * time.Second

// Default makes explicit whether the component kube-proxy is deployed, and, if the operator runs kube-proxy, its bind address, its sync period,
// its mode, and the bridge by which it recognizes pods. The mode is nftables if the oldest kernel supports it or is unknown, and iptables
// otherwise; once recorded, it stays until the user sets another one.
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

// The arguments for the way in which kube-proxy recognizes pods of its node.
const (
	localArgument  = "detect-local-mode"
	bridgeArgument = "pod-bridge-interface"
)

// recognizes reports whether arguments set the way in which kube-proxy recognizes pods of its node.
func recognizes(settings *osv1.ProxyConfig) bool {
	for _, name := range []string{localArgument, bridgeArgument, "pod-interface-name-prefix", "cluster-cidr"} {
		if len(settings.ProxyArguments[name]) > 0 {
			return true
		}
	}
	return false
}

// bindAddress returns the address in the argument, or else all addresses of the IP family of the first pool.
func bindAddress(spec *operatorv1.NetworkSpec, settings *osv1.ProxyConfig) string {
	var configured Config
	apply(&configured, arguments(settings), nil)
	switch {
	case configured.BindAddress != "":
		return configured.BindAddress
	case firstIsIPv6(spec):
		return "::"
	}
	return "0.0.0.0"
}

// syncPeriod returns the period in the argument, or else the default.
func syncPeriod(settings *osv1.ProxyConfig) string {
	var configured Config
	apply(&configured, arguments(settings), nil)
	if d := configured.IPTables.SyncPeriod.Duration; d != 0 {
		return d.String()
	}
	return defaultSyncPeriod.String()
}

// nftablesKernel returns the minimum version of Linux with which kube-proxy supports nftables.
func nftablesKernel() facts.KernelVersion { return facts.KernelVersion{Major: 5, Minor: 13} }

// defaultMode returns the mode for the nodes of the cluster.
func defaultMode(f facts.Cluster) string {
	least := nftablesKernel()
	if unknown := f.OldestKernel == (facts.KernelVersion{}); unknown || f.OldestKernel.AtLeast(least.Major, least.Minor) {
		return ModeNFTables
	}
	return ModeIPTables
}
