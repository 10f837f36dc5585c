package node

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are what the agent counts. What can be read from the board is read when asked for.
type metrics struct {
	registry     *prometheus.Registry
	acquisitions prometheus.Counter
	renewals     *prometheus.CounterVec
	routesSet    prometheus.Counter
	routesGone   prometheus.Counter
	firewall     prometheus.Counter
	passes       prometheus.Histogram
}

func newMetrics(version string, read func() board) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "flanneld", Name: name, Help: help})
	}
	m := &metrics{
		registry:     prometheus.NewRegistry(),
		acquisitions: counter("lease_acquisitions_total", "How often the node took its subnet in etcd."),
		renewals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "flanneld", Name: "lease_renewals_total", Help: "Renewals of the node's lease, by result.",
		}, []string{"result"}),
		routesSet:  counter("routes_set_total", "Routes and neighbours that were set, for new peers or because they were gone."),
		routesGone: counter("routes_removed_total", "Routes and neighbours of deleted nodes that were removed."),
		firewall:   counter("firewall_repairs_total", "How often firewall rules were restored because some were missing."),
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "flanneld", Name: "kernel_pass_seconds", Help: "How long it took to compare the kernel with what is wanted and to correct it.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 8),
		}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "flanneld", Name: "build_info", Help: "Always 1; the label is the version.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(m.acquisitions, m.renewals, m.routesSet, m.routesGone, m.firewall, m.passes, info,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauges(read)
	return m
}

func (m *metrics) gauges(read func() board) {
	for _, g := range []struct {
		name, help string
		value      func(board) float64
	}{
		{"ready", "1 once pods can be started.", func(b board) float64 { return one(b.status.Ready) }},
		{"etcd_connected", "1 while etcd answers.", func(b board) float64 { return one(b.connected) }},
		{"restored", "1 while the node works with what it kept on disk.", func(b board) float64 { return one(b.restored) }},
		{"peers", "Other nodes with a lease.", func(b board) float64 { return float64(b.status.Peers) }},
		{"peers_off_link", "Peers that host-gw cannot reach.", func(b board) float64 { return float64(len(b.status.OffLink)) }},
		{"leases_rejected", "Leases of other nodes that break a rule, so that no traffic follows them.", func(b board) float64 { return float64(b.rejected) }},
		{"routes_missing", "Routes that could not be set, but for peers off the link.", func(b board) float64 { return float64(b.missing) }},
		{"problems", "Things that do not work; /readyz names them.", func(b board) float64 { return float64(len(b.problems)) }},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: "flanneld", Name: g.name, Help: g.help}, func() float64 { return g.value(read()) }))
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
