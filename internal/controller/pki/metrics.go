package pki

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metrics is until when the certificates are valid.
type Metrics struct{ expiration *prometheus.GaugeVec }

// NewMetrics makes the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{expiration: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_certificate_expiration_timestamp_seconds",
		Help: "When a certificate expires, in seconds since 1970. certificate is authority or certificate.",
	}, []string{"namespace", "name", "certificate"})}
	err := registry.Register(m.expiration)
	if have, registered := errors.AsType[prometheus.AlreadyRegisteredError](err); registered {
		m.expiration, err = have.ExistingCollector.(*prometheus.GaugeVec), nil
	}
	return m, err
}

func (m *Metrics) expires(key client.ObjectKey, p *plan) {
	m.expiration.WithLabelValues(key.Namespace, key.Name, "authority").Set(float64(p.Signs.NotAfter.Unix()))
	m.expiration.WithLabelValues(key.Namespace, key.Name, "certificate").Set(float64(p.Leaf.NotAfter.Unix()))
}

// Set notes when a certificate that is none of an OperatorPKI expires. Name is its Secret.
func (m *Metrics) Set(key client.ObjectKey, certificate string, notAfter time.Time) {
	m.expiration.WithLabelValues(key.Namespace, key.Name, certificate).Set(float64(notAfter.Unix()))
}

// Forget removes a certificate that was noted with Set.
func (m *Metrics) Forget(key client.ObjectKey) { m.forget(key) }

func (m *Metrics) forget(key client.ObjectKey) {
	m.expiration.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
