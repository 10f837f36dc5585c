package connectivitycheck

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// Metrics are the metrics of the checks.
type Metrics struct {
	registry prometheus.Registerer
	checks   *prometheus.GaugeVec
	nodes    prometheus.Gauge
}

// NewMetrics returns metrics that are registered when the controller is set up.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{
		registry: registry,
		checks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "cluster_network_operator_connectivity_checks", Help: "Connectivity checks by result: reachable, unreachable or unknown.",
		}, []string{"result"}),
		nodes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "cluster_network_operator_unreachable_nodes", Help: "Nodes that cannot be reached according to all of their connectivity checks.",
		}),
	}
}

func (m *Metrics) register() error {
	for _, collector := range []prometheus.Collector{m.checks, m.nodes} {
		// Tests run several operators in one process.
		if err := m.registry.Register(collector); err != nil && !isRegistered(err) {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func isRegistered(err error) bool {
	_, ok := errors.AsType[prometheus.AlreadyRegisteredError](err)
	return ok
}

func (m *Metrics) set(results []connectivity.Result, v connectivity.Summary) {
	counts := map[string]int{"reachable": 0, "unreachable": 0, "unknown": 0}
	for _, r := range results {
		switch {
		case !r.Known:
			counts["unknown"]++
		case r.Reachable:
			counts["reachable"]++
		default:
			counts["unreachable"]++
		}
	}
	for result, n := range counts {
		m.checks.WithLabelValues(result).Set(float64(n))
	}
	m.nodes.Set(float64(len(v.Nodes)))
}
