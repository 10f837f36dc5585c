package egressrouter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count the objects of routers that the controller wrote.
type Metrics struct {
	registry prometheus.Registerer
	applied  *prometheus.CounterVec
}

// NewMetrics returns metrics that are registered when the controller is set up.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{registry: registry, applied: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_egress_router_objects_total",
		Help: "Objects of egress routers that were written, by event: created, updated, deleted or repaired (another client had modified it).",
	}, []string{"event"})}
}

func (m *Metrics) register() error {
	err := m.registry.Register(m.applied)
	// Tests run several operators in one process.
	if _, registered := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !registered {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}
