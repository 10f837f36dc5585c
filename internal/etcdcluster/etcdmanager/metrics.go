package etcdmanager

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/etcdcluster"
)

// Metrics are the metrics of the databases of a managed etcd.
type Metrics struct{ size, inUse, noSpace *prometheus.GaugeVec }

// MetricNames are the full names of the metrics of an etcd, so that they can be found by a text search from alerts.
type MetricNames struct {
	// Size and InUse are sizes of databases in bytes; NoSpace is 1 while a member reports the alarm NOSPACE.
	Size, InUse, NoSpace string
}

// NewMetrics creates the metrics of an etcd and registers them, unless the registry has them already.
func NewMetrics(c etcdcluster.Cluster, names MetricNames, registry prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: fmt.Sprintf(help, c.Title())}, []string{"node"})
	}
	m := &Metrics{
		size:    gauge(names.Size, "Size of the database of the member of %s on a node, of at most 512 MiB."),
		inUse:   gauge(names.InUse, "How much of the database of the member of %s on a node holds data."),
		noSpace: gauge(names.NoSpace, "1 while the member of %s on a node reports the alarm NOSPACE: etcd refuses all writes."),
	}
	for _, g := range []**prometheus.GaugeVec{&m.size, &m.inUse, &m.noSpace} {
		err := registry.Register(*g)
		if existing, registered := errors.AsType[prometheus.AlreadyRegisteredError](err); registered {
			*g, err = existing.ExistingCollector.(*prometheus.GaugeVec), nil
		}
		if err != nil {
			return m, fmt.Errorf("register metrics of %s: %w", c.Title(), err)
		}
	}
	return m, nil
}

// Databases replaces the values of all members.
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
