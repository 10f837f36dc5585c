package flannel

import (
	"fmt"
	"net/netip"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// agentApp is the label app of the pods of agents, metricsName that of the proxies of metrics.
	agentApp, metricsName = "flanneld", "flannel-metrics"
)

// addMetrics adds the proxies of the metrics of agents and of the managed etcd. Proxies on nodes without a member have nothing to serve for
// it, and Prometheus does not try them: targets are the members. They run the operator's own image. Where that is not known, they are omitted:
// flannel does not depend on them.
func addMetrics(list *manifest.List, etcd record.Settings, config agentconfig.Config, f facts.Cluster) {
	image, err := f.Images.Get(facts.OperatorImage, "flannel's metrics")
	if err != nil {
		return
	}
	agent, err := netip.ParseAddrPort(config.HealthAddress)
	if err != nil {
		list.Fail(fmt.Errorf("read the address of the agents' metrics: %w", err))
		return
	}
	endpoints := []metricsproxy.Endpoint{{App: agentApp, Port: metricsproxy.FlanneldPort, Upstream: agent}}
	if etcd.Managed != nil {
		loopback := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), record.Etcd.MetricsPort)
		endpoints = append(endpoints, metricsproxy.Endpoint{App: record.Etcd.App, Port: metricsproxy.EtcdPort, Upstream: loopback})
	}
	list.Append(metricsproxy.Objects(metricsproxy.Options{
		Namespace: record.Namespace, Name: metricsName, Image: image, Env: f.APIServer.Env(), TLS: f.TLS,
		Endpoints: endpoints,
	}))
}
