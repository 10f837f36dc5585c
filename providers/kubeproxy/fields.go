package kubeproxy

import (
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
)

// Fields returns the change class of each of the component's fields.
func (Component) Fields() []provider.Field {
	return []provider.Field{
		{Path: "spec.deployKubeProxy", Class: provider.Rolling, Disruption: provider.ConnectionsReset, Acknowledge: true,
			When:   "it becomes false and no other component serves Services",
			Reason: "Services are served by the kube-proxy that is deployed; while no component serves them, new connections to Services fail, and established ones continue"},
		{Path: "spec.kubeProxyConfig", Class: provider.Rolling, Disruption: provider.PodsRestart, Needs: provider.NeedsComponent, Reader: "internal/serviceproxy",
			Reason: "kube-proxy restarts node by node; the rules in the kernel stay in place, so that connections continue"},
		{Path: "spec.kubeProxyConfig.proxyArguments." + serviceproxy.ModeArgument, Class: provider.Rolling, Disruption: provider.ConnectionsReset, Needs: provider.NeedsComponent, Reader: "internal/serviceproxy",
			Reason: "on each node in turn kube-proxy removes the rules of the old mode before it writes those of the new one; Services are not reachable there until then, and established connections to them may break"},
	}
}
