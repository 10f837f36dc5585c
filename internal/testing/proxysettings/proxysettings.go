// Package proxysettings builds specifications with settings of kube-proxy, for tests of all that reads them.
package proxysettings

import (
	"strings"

	osv1 "github.com/openshift/api/operator/v1"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
)

// Args makes arguments out of "name=value" and, for a name without a value, "name".
func Args(list ...string) map[string]osv1.ProxyArgumentList {
	all := map[string]osv1.ProxyArgumentList{}
	for _, a := range list {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			all[name] = osv1.ProxyArgumentList{}
			continue
		}
		all[name] = append(all[name], value)
	}
	return all
}

// Network is a specification with pools for pods, 10.128.0.0/14 if none are given, and settings for kube-proxy.
func Network(settings *osv1.ProxyConfig, pools ...string) *operatorv1.NetworkSpec {
	if len(pools) == 0 {
		pools = []string{"10.128.0.0/14"}
	}
	spec := &operatorv1.NetworkSpec{KubeProxyConfig: settings}
	for _, p := range pools {
		spec.ClusterNetwork = append(spec.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: p, HostPrefix: 23})
	}
	return spec
}
