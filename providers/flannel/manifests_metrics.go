package flannel

import (
	"fmt"
	"net/netip"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/metricsproxy"
	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

const (
	// agentApp is the value of the label app of agents' pods. metricsName is the name of the DaemonSet of metrics proxies.
	agentApp, metricsName = "flanneld", "flannel-metrics"
)

// addMetrics adds the proxies for the metrics of agents and of the managed etcd. Prometheus scrapes those of etcd on members only. They run the operator's
// image. If that image is unknown, they are omitted: flannel does not depend on them.
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

// addSnapshots adds the workload that takes snapshots of the managed etcd. It runs the operator's image. If that image is unknown, it is omitted: flannel does
// not depend on it.
func addSnapshots(list *manifest.List, m etcdcluster.Membership, directory string, f facts.Cluster) {
	if image, err := f.Images.Get(facts.OperatorImage, "snapshots of flannel's etcd"); err == nil {
		list.Append(record.Etcd.Snapshots(m, image, directory))
	}
}

// dataDirectory returns the data directory of the managed etcd's members on the nodes; empty if etcd is external.
func dataDirectory(spec *operatorv1.NetworkSpec) string {
	return orZero(orZero(settings(spec).Etcd).Managed).DataDir
}
