package egressrouter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics say how often the loop had to do something about routers.
type Metrics struct {
	registry prometheus.Registerer
	applied  *prometheus.CounterVec
}

// NewMetrics returns metrics that are registered when the loop is set up.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	return &Metrics{registry: registry, applied: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_egress_router_objects_total",
		Help: "Objects of egress routers that were written, by event: created, updated, deleted or repaired (another client had modified it).",
	}, []string{"event"})}
}

func (m *Metrics) register() error {
	err := m.registry.Register(m.applied)
	// Two operators in one process are a test.
	if _, is := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !is {
		return fmt.Errorf("register metrics: %w", err)
	}
	return nil
}
