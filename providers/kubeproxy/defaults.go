package kubeproxy

import (
	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/serviceproxy"
)

// Default sets whether kube-proxy is deployed. If the operator runs kube-proxy, as a component or in pods of the network, it makes the settings explicit, too.
func (Component) Default(spec, prev *operatorv1.NetworkSpec, t provider.Traits, f facts.Cluster) *operatorv1.NetworkSpec {
	return serviceproxy.Default(spec, prev, t, f)
}
