package node

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are the agent's metrics. Gauges read the board when collected.
type metrics struct {
	*agent.Metrics
	acquisitions  prometheus.Counter
	renewals      *prometheus.CounterVec
	routesSet     prometheus.Counter
	routesRemoved prometheus.Counter
	firewall      prometheus.Counter
	reconciles    prometheus.Histogram
}

func newMetrics(version string, read func() view) *metrics {
	base := agent.NewMetrics("flanneld", version)
	m := &metrics{
		Metrics:       base,
		acquisitions:  base.Counter("lease_acquisitions_total", "How often the node took its subnet in etcd."),
		renewals:      base.Results("lease_renewals_total", "Renewals of the node's lease, by result."),
		routesSet:     base.Counter("routes_set_total", "Routes and neighbours that were set, for new peers or because they were missing."),
		routesRemoved: base.Counter("routes_removed_total", "Routes and neighbours of deleted nodes that were removed."),
		firewall:      base.Counter("firewall_repairs_total", "How often firewall rules were restored because some were missing."),
		reconciles: base.Histogram("kernel_pass_seconds", "Duration of a reconcile of the kernel's routes and neighbours.",
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
		{"etcd_connected", "1 while etcd responds.", func(s status) float64 { return agent.Flag(s.connected) }},
		{"restored", "1 while the node uses the saved state.", func(s status) float64 { return agent.Flag(s.restored) }},
		{"peers", "Other nodes with a lease.", func(s status) float64 { return float64(s.Peers) }},
		{"peers_off_link", "Peers that host-gw cannot reach.", func(s status) float64 { return float64(len(s.OffLink)) }},
		{"leases_rejected", "Leases of other nodes that violate a rule and are not used for routing.", func(s status) float64 { return float64(s.rejected) }},
		{"routes_missing", "Routes that could not be set, except for peers off the link.", func(s status) float64 { return float64(s.missing) }},
	} {
		m.Gauge(g.name, g.help, func() float64 { return g.value(read().Status) })
	}
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(read().Problems.Len()) })
}
