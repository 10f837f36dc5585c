package pki

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Metrics are the expiration times of certificates.
type Metrics struct{ expiration *prometheus.GaugeVec }

// NewMetrics creates the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{expiration: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_certificate_expiration_timestamp_seconds",
		Help: "Time when a certificate expires, in seconds since 1970. certificate is authority for a CA, or certificate.",
	}, []string{"namespace", "name", "certificate"})}
	err := registry.Register(m.expiration)
	if registeredErr, registered := errors.AsType[prometheus.AlreadyRegisteredError](err); registered {
		m.expiration, err = registeredErr.ExistingCollector.(*prometheus.GaugeVec), nil
	}
	return m, err
}

func (m *Metrics) expires(key client.ObjectKey, p *plan) {
	m.expiration.WithLabelValues(key.Namespace, key.Name, "authority").Set(float64(p.Signer.NotAfter.Unix()))
	m.expiration.WithLabelValues(key.Namespace, key.Name, "certificate").Set(float64(p.Leaf.NotAfter.Unix()))
}

// Set sets the expiration time of a certificate without OperatorPKI. key is its Secret.
func (m *Metrics) Set(key client.ObjectKey, certificate string, notAfter time.Time) {
	m.expiration.WithLabelValues(key.Namespace, key.Name, certificate).Set(float64(notAfter.Unix()))
}

// Forget removes a certificate that was set with Set.
func (m *Metrics) Forget(key client.ObjectKey) { m.forget(key) }

func (m *Metrics) forget(key client.ObjectKey) {
	m.expiration.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}
