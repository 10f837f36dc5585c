package checkendpoints

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// Metrics are the metrics of samples. Names and labels are those of OpenShift's dashboards and alerts; latencies are in
// nanoseconds.
type Metrics struct {
	samples           *prometheus.CounterVec
	connect, resolved *prometheus.GaugeVec
}

// NewMetrics registers the metrics. It panics if they are registered already.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	labels := []string{"component", "checkName", "targetEndpoint"}
	m := &Metrics{
		samples: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pod_network_connectivity_check_count", Help: "Samples of connectivity checks by their result.",
		}, append(labels, "tcpConnect", "dnsResolve")),
		connect: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pod_network_connectivity_check_tcp_connect_latency_gauge", Help: "How long the last connection took to establish, in nanoseconds.",
		}, labels),
		resolved: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pod_network_connectivity_check_dns_resolve_latency_gauge", Help: "How long the name took to resolve the last time, in nanoseconds.",
		}, labels),
	}
	registry.MustRegister(m.samples, m.connect, m.resolved)
	return m
}

// count adds a sample of a check of a component, which is the namespace that the check is in.
func (m *Metrics) count(component, check string, s connectivity.Sample) {
	const success, failure = "success", "failure"
	labels := prometheus.Labels{"component": component, "checkName": check, "targetEndpoint": s.Endpoint}
	if s.Resolved > 0 && s.ResolveErr == nil {
		m.resolved.With(labels).Set(float64(s.Resolved.Nanoseconds()))
	}
	if s.Reached() {
		m.connect.With(labels).Set(float64(s.Connected.Nanoseconds()))
	}
	labels["tcpConnect"], labels["dnsResolve"] = "", ""
	switch {
	case s.ResolveErr != nil:
		labels["dnsResolve"] = failure
	case s.Resolved > 0:
		labels["dnsResolve"] = success
	}
	switch {
	case s.ResolveErr != nil:
	case s.ConnectErr != nil:
		labels["tcpConnect"] = failure
	default:
		labels["tcpConnect"] = success
	}
	m.samples.With(labels).Inc()
}

// Forget drops the metrics of a check that is no longer run.
func (m *Metrics) Forget(component, check string) {
	labels := prometheus.Labels{"component": component, "checkName": check}
	m.samples.DeletePartialMatch(labels)
	m.connect.DeletePartialMatch(labels)
	m.resolved.DeletePartialMatch(labels)
}
