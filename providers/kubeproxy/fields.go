package kubeproxy

import "github.com/cluster-network-operator/cno/internal/provider"

// Fields says what a change of each of the component's fields means.
func (Component) Fields() []provider.Field {
	return []provider.Field{
		{Path: "spec.deployKubeProxy", Class: provider.Rolling, Disruption: provider.ConnectionsReset,
			Reason: "services are served by the kube-proxy that is deployed; while none serves them, new connections to services fail, and established ones go on"},
		{Path: "spec.kubeProxyConfig", Class: provider.Rolling, Disruption: provider.PodsRestart,
			Reason: "kube-proxy restarts node by node; the rules in the kernel stay meanwhile, so that connections go on"},
	}
}
