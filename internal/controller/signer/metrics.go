package signer

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count answered and delayed requests.
type Metrics struct {
	requests *prometheus.CounterVec
	delayed  prometheus.Counter
	duration prometheus.Histogram
}

// NewMetrics creates the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cluster_network_operator_signer_requests_total",
			Help: "Certificate signing requests that were answered. outcome is signed, denied or failed; reason is that of the refusal.",
		}, []string{"outcome", "reason"}),
		delayed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "cluster_network_operator_signer_delayed_total",
			Help: "Certificate signing requests that were delayed because the requester makes many.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "cluster_network_operator_signer_duration_seconds",
			Help:    "Time from a certificate signing request to its certificate.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 300, 1800},
		}),
	}
	return m, errors.Join(register(registry, &m.requests), register(registry, &m.delayed), register(registry, &m.duration))
}

// register registers a collector, or replaces it by the registered one.
func register[T prometheus.Collector](registry prometheus.Registerer, collector *T) error {
	err := registry.Register(*collector)
	err2, registered := errors.AsType[prometheus.AlreadyRegisteredError](err)
	if !registered {
		return err
	}
	existing, same := err2.ExistingCollector.(T)
	if !same {
		return fmt.Errorf("metric is taken: %w", err)
	}
	*collector = existing
	return nil
}

func (m *Metrics) signed(after time.Duration) {
	m.requests.WithLabelValues("signed", "").Inc()
	m.duration.Observe(max(after, 0).Seconds())
}

func (m *Metrics) refused(d Decision) {
	outcome := "denied"
	if d.Action == Fail {
		outcome = "failed"
	}
	m.requests.WithLabelValues(outcome, d.Reason()).Inc()
}
