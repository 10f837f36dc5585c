package controller

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are those of the controller. The registry adds the prefix sdn_controller to their names.
type metrics struct {
	reconcile *prometheus.HistogramVec
	writes    atomic.Int64
	// Numbers of objects, set by the leader; 0 in other instances.
	egressIPs, firewalls, rules, multicast, problems, waiting atomic.Int64
}

func newMetrics(m *agent.Metrics, board *agent.Board[status]) *metrics {
	out := &metrics{reconcile: m.Histograms("reconcile_seconds", "Duration of a reconcile with its writes.", "controller", prometheus.ExponentialBuckets(0.0005, 2, 18))}
	m.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "sdn_controller", Name: "writes_total", Help: "Objects that were created, updated and deleted."},
		func() float64 { return float64(out.writes.Load()) }))
	m.Gauge("leader", "1 while this instance has the lease.", func() float64 { return agent.Flag(board.View().Status.Leader) })
	for _, g := range []struct {
		name, help string
		value      *atomic.Int64
	}{
		{"num_egress_ips", "Egress IPs for which namespaces ask.", &out.egressIPs},
		{"num_egress_firewalls", "EgressNetworkPolicies.", &out.firewalls},
		{"num_egress_firewall_rules", "Rules of all EgressNetworkPolicies.", &out.rules},
		{"num_multicast_enabled_namespaces", "Namespaces whose pods may send multicast.", &out.multicast},
		{"object_problems", "Errors in HostSubnets, NetNamespaces, EgressNetworkPolicies and Nodes. Events on the objects describe them.", &out.problems},
		{"nodes_without_subnet", "Nodes and hosts without a block, as all are in use.", &out.waiting},
	} {
		m.Gauge(g.name, g.help, func() float64 { return float64(g.value.Load()) })
	}
	return out
}

// reset sets the leader's metrics to 0 at the end of a term.
func (m *metrics) reset() {
	for _, v := range []*atomic.Int64{&m.egressIPs, &m.firewalls, &m.rules, &m.multicast, &m.problems, &m.waiting} {
		v.Store(0)
	}
}
