package multus

import (
	"fmt"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// metricsName is the name of the DaemonSet of metrics proxies.
const metricsName = "multus-metrics"

// addMetrics adds the proxies for the metrics of the daemons. They run the operator's image. If that image is unknown, they are omitted: nothing depends on
// them.
func addMetrics(list *manifest.List, config agentconfig.Config, f facts.Cluster) {
	image, err := f.Images.Get(facts.OperatorImage, "the metrics of multiple networks")
	if err != nil {
		return
	}
	var endpoints []metricsproxy.Endpoint
	add := func(name string, port int32, upstream string) {
		address, err := netip.ParseAddrPort(upstream)
		if err != nil {
			list.Fail(fmt.Errorf("address of the metrics of %s: %w", name, err))
		}
		endpoints = append(endpoints, metricsproxy.Endpoint{App: daemonName, Name: name, Port: port, Upstream: address})
	}
	add("multus", metricsproxy.MultusPort, config.HealthAddress)
	add("multus-dhcp", metricsproxy.MultusDHCPPort, config.DHCPHealthAddress)
	if config.Policies {
		add("multus-policy", metricsproxy.MultusPolicyPort, config.PolicyHealthAddress)
	}
	list.Append(metricsproxy.Objects(metricsproxy.Options{
		Namespace: Namespace, Name: metricsName, Image: image, Env: f.APIServer.Env(), TLS: f.TLS, Endpoints: endpoints,
	}))
}
