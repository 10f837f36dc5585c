package controller

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the sizes of the databases of flannel's managed etcd, and whether it is full.
type Metrics struct{ size, inUse, noSpace *prometheus.GaugeVec }

// NewMetrics creates the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"node"})
	}
	m := &Metrics{
		size:    gauge("cluster_network_operator_flannel_etcd_database_bytes", "Size of the database of the member of flannel's etcd on a node, of at most 512 MiB."),
		inUse:   gauge("cluster_network_operator_flannel_etcd_database_in_use_bytes", "How much of the database of the member of flannel's etcd on a node holds data."),
		noSpace: gauge("cluster_network_operator_flannel_etcd_no_space", "1 while the member of flannel's etcd on a node reports the alarm NOSPACE: etcd refuses all writes."),
	}
	for _, g := range []**prometheus.GaugeVec{&m.size, &m.inUse, &m.noSpace} {
		err := registry.Register(*g)
		if existing, registered := errors.AsType[prometheus.AlreadyRegisteredError](err); registered {
			*g, err = existing.ExistingCollector.(*prometheus.GaugeVec), nil
		}
		if err != nil {
			return m, fmt.Errorf("register metrics of flannel's etcd: %w", err)
		}
	}
	return m, nil
}

// Databases replaces what is known of all members.
func (m *Metrics) Databases(sizes []DatabaseSize) {
	m.size.Reset()
	m.inUse.Reset()
	m.noSpace.Reset()
	for _, s := range sizes {
		m.size.WithLabelValues(s.Node).Set(float64(s.Size))
		m.inUse.WithLabelValues(s.Node).Set(float64(s.InUse))
		full := 0.0
		if s.NoSpace {
			full = 1
		}
		m.noSpace.WithLabelValues(s.Node).Set(full)
	}
}
