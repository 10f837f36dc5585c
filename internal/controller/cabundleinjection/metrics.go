package cabundleinjection

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/metric"
)

// Metrics are the metrics of the controller.
type Metrics struct {
	configMaps *prometheus.GaugeVec
	writes     *prometheus.CounterVec
}

// NewMetrics registers the metrics. Registered ones are reused, because several operators in one process share them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	var errs [2]error
	m.configMaps, errs[0] = metric.Registered(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_trusted_ca_configmaps",
		Help: "ConfigMaps that request the trusted certificates, by state: injected, refused (they cannot be injected), or contested (another client removes them).",
	}, []string{"state"}))
	m.writes, errs[1] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_trusted_ca_writes_total",
		Help: "Writes of ConfigMaps for injection or removal of the trusted certificates, by result: injected, removed, refused, failed.",
	}, []string{"result"}))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("register metrics of %s: %w", Name, err)
	}
	return m, nil
}

func (m *Metrics) setState(state string, by int) {
	m.configMaps.WithLabelValues(state).Add(float64(by))
}
func (m *Metrics) countWrite(result string) { m.writes.WithLabelValues(result).Inc() }
