package furthernetworks

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
)

// sriov is a type that always has a value, as in OpenShift.
const sriov = "sriov"

// Metrics count pods on further networks. Names and labels are OpenShift's.
type Metrics struct {
	registry      prometheus.Registerer
	instances, up *prometheus.GaugeVec
}

// NewMetrics returns metrics that are registered when the controller is set up.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"networks"})
	}
	return &Metrics{
		registry:  registry,
		instances: gauge("network_attachment_definition_instances", "Pods on networks of NetworkAttachmentDefinitions, by the type of the networks, and any."),
		up:        gauge("network_attachment_definition_enabled_instance_up", "1 if the cluster has pods on networks of NetworkAttachmentDefinitions, by the type of the networks, and any."),
	}
}

func (m *Metrics) register() error {
	for _, collector := range []prometheus.Collector{m.instances, m.up} {
		err := m.registry.Register(collector)
		// Tests run several operators in one process.
		if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !ok {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// set sets the values from the reports. Types without pods have no value, except any and sriov.
func (m *Metrics) set(nodes []finding.Node) {
	sum := map[string]int{finding.Any: 0, sriov: 0}
	for _, n := range nodes {
		for kind, count := range n.Instances {
			sum[kind] += max(count, 0)
		}
	}
	m.forget()
	for kind, count := range sum {
		m.instances.WithLabelValues(kind).Set(float64(count))
		m.up.WithLabelValues(kind).Set(float64(min(count, 1)))
	}
}

// forget removes all values.
func (m *Metrics) forget() {
	m.instances.Reset()
	m.up.Reset()
}
