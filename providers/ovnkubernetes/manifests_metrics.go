package ovnkubernetes

import (
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/agentconfig"
)

// addMetrics adds the proxies for the metrics of ovn-node, ovn-master and, with IPsec, ovn-ipsec. Prometheus scrapes those of masters on masters only. They
// run the operator's image. If that image is unknown, they are omitted: the network does not depend on them.
func addMetrics(list *manifest.List, f facts.Cluster, ipsec bool) {
	image, err := f.Images.Get(facts.OperatorImage, "OVN-Kubernetes' metrics")
	if err != nil {
		return
	}
	endpoints := []metricsproxy.Endpoint{
		{App: nodeName, Port: metricsproxy.OVNNodePort, Upstream: netip.MustParseAddrPort(agentconfig.HealthNode)},
		{App: masterName, Port: metricsproxy.OVNMasterPort, Upstream: netip.MustParseAddrPort(agentconfig.HealthMaster)},
	}
	if ipsec {
		endpoints = append(endpoints, metricsproxy.Endpoint{App: ipsecName, Port: metricsproxy.OVNIPsecPort, Upstream: netip.MustParseAddrPort(agentconfig.HealthIPsec)})
	}
	list.Append(metricsproxy.Objects(metricsproxy.Options{
		Namespace: agentconfig.Namespace, Name: metricsName, Image: image, Env: f.APIServer.Env(), TLS: f.TLS,
		Endpoints: endpoints,
	}))
}
