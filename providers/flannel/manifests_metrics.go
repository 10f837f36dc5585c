package flannel

import (
	"fmt"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// agentApp is the label app of the agents' pods, metricsName that of the proxies of metrics.
	agentApp, metricsName = "flanneld", "flannel-metrics"
)

// addMetrics adds the proxies of the metrics of agents. They run the operator's own image. Where that is not known, they are omitted:
// flannel does not depend on them.
func addMetrics(list *objects, config agentconfig.Config, f facts.Cluster) {
	image, err := f.Images.Get(facts.OperatorImage, "flannel's metrics")
	if err != nil {
		return
	}
	agent, err := netip.ParseAddrPort(config.HealthAddress)
	if err != nil {
		list.fail(fmt.Errorf("read the address of the agents' metrics: %w", err))
		return
	}
	all, err := metricsproxy.Objects(metricsproxy.Options{
		Namespace: record.Namespace, Name: metricsName, Image: image, Env: apiServer(f.APIServer), TLS: f.TLS,
		Endpoints: []metricsproxy.Endpoint{{App: agentApp, Port: metricsproxy.FlanneldPort, Upstream: agent}},
	})
	if err != nil {
		list.fail(err)
		return
	}
	list.all = append(list.all, all...)
}
