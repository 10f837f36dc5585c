package proxyconfig

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/cabundle"
	"github.com/cluster-network-operator/cno/internal/metric"
)

// Metrics are the metrics of the controller.
type Metrics struct {
	certificates *prometheus.GaugeVec
	expiration   prometheus.Gauge
	probes       *prometheus.CounterVec
}

// NewMetrics registers the metrics. Registered ones are reused, because several operators in one process share them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	var errs [3]error
	m.certificates, errs[0] = metric.Registered(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_trusted_ca_certificates",
		Help: "Certificates that are in the trusted bundle (state used), and that were left out of it (state expired).",
	}, []string{"state"}))
	m.expiration, errs[1] = metric.Registered(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "cluster_network_operator_trusted_ca_expiration_timestamp_seconds",
		Help: "When the next certificate of the trusted bundle expires.",
	}))
	m.probes, errs[2] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_proxy_probes_total",
		Help: "Readiness endpoints that were requested through the proxy, by result.",
	}, []string{"result"}))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("register metrics of %s: %w", Name, err)
	}
	return m, nil
}

func (m *Metrics) bundle(b cabundle.Merged) {
	m.certificates.WithLabelValues("used").Set(float64(b.Count))
	m.certificates.WithLabelValues("expired").Set(float64(len(b.Skipped)))
	if !b.Next.IsZero() {
		m.expiration.Set(float64(b.Next.Unix()))
	}
}

func (m *Metrics) probed(passed bool) {
	result := "failed"
	if passed {
		result = "passed"
	}
	m.probes.WithLabelValues(result).Inc()
}
