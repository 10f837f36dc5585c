package addresspool

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are metrics of address usage.
type Metrics struct {
	registry        prometheus.Registerer
	assigned, total *prometheus.GaugeVec
	releases        prometheus.Counter
}

// NewMetrics returns metrics that are registered when the controller is set up.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"pool"})
	}
	return &Metrics{
		registry: registry,
		assigned: gauge("cluster_network_operator_address_pool_assigned_addresses", "Addresses of an IPPool of whereabouts that are assigned."),
		total:    gauge("cluster_network_operator_address_pool_addresses", "Addresses that can be assigned from an IPPool of whereabouts."),
		releases: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cluster_network_operator_addresses_released_total",
			Help: "Addresses and reservations of whereabouts that the operator released, because the pod no longer exists or has ended, its node was deleted, or an agent left them.",
		}),
	}
}

func (m *Metrics) register() error {
	for _, collector := range []prometheus.Collector{m.assigned, m.total, m.releases} {
		err := m.registry.Register(collector)
		// Tests run several operators in one process.
		if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !ok {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func (m *Metrics) set(all []usage) {
	m.forget()
	for _, u := range all {
		m.assigned.WithLabelValues(u.pool).Set(float64(u.used))
		m.total.WithLabelValues(u.pool).Set(float64(u.within))
	}
}

// forget removes the values of all pools.
func (m *Metrics) forget() {
	m.assigned.Reset()
	m.total.Reset()
}

func (m *Metrics) released(n int) { m.releases.Add(float64(n)) }
