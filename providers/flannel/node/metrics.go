package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are what the agent counts. What can be read from the board is read when asked for.
type metrics struct {
	*agent.Metrics
	acquisitions prometheus.Counter
	renewals     *prometheus.CounterVec
	routesSet    prometheus.Counter
	routesGone   prometheus.Counter
	firewall     prometheus.Counter
	passes       prometheus.Histogram
}

func newMetrics(version string, read func() view) *metrics {
	base := agent.NewMetrics("flanneld", version)
	m := &metrics{
		Metrics:      base,
		acquisitions: base.Counter("lease_acquisitions_total", "How often the node took its subnet in etcd."),
		renewals:     base.Results("lease_renewals_total", "Renewals of the node's lease, by result."),
		routesSet:    base.Counter("routes_set_total", "Routes and neighbours that were set, for new peers or because they were gone."),
		routesGone:   base.Counter("routes_removed_total", "Routes and neighbours of deleted nodes that were removed."),
		firewall:     base.Counter("firewall_repairs_total", "How often firewall rules were restored because some were missing."),
		passes: base.Histogram("kernel_pass_seconds", "How long it took to compare the kernel with what is wanted and to correct it.",
			prometheus.ExponentialBuckets(0.0005, 4, 8)),
	}
	m.gauges(read)
	return m
}

func (m *metrics) gauges(read func() view) {
	for _, g := range []struct {
		name, help string
		value      func(status) float64
	}{
		{"ready", "1 once pods can be started.", func(s status) float64 { return agent.Flag(s.Ready) }},
		{"etcd_connected", "1 while etcd answers.", func(s status) float64 { return agent.Flag(s.connected) }},
		{"restored", "1 while the node works with what it kept on disk.", func(s status) float64 { return agent.Flag(s.restored) }},
		{"peers", "Other nodes with a lease.", func(s status) float64 { return float64(s.Peers) }},
		{"peers_off_link", "Peers that host-gw cannot reach.", func(s status) float64 { return float64(len(s.OffLink)) }},
		{"leases_rejected", "Leases of other nodes that break a rule, so that no traffic follows them.", func(s status) float64 { return float64(s.rejected) }},
		{"routes_missing", "Routes that could not be set, but for peers off the link.", func(s status) float64 { return float64(s.missing) }},
	} {
		m.Gauge(g.name, g.help, func() float64 { return g.value(read().Status) })
	}
	m.Gauge("problems", "Things that do not work; /readyz names them.", func() float64 { return float64(read().Problems.Len()) })
}
