package master

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are those of the master. The registry adds the prefix ovnkube_master to their names.
type metrics struct {
	latency     *prometheus.HistogramVec
	transaction prometheus.Histogram
	database    atomic.Pointer[database]
}

func newMetrics(m *agent.Metrics, board *agent.Board[status]) *metrics {
	out := &metrics{latency: m.Histograms("programming_seconds", "Time from an object's change to its rows in the northbound database.", "kind",
		prometheus.ExponentialBuckets(0.001, 2, 16))}
	out.transaction = m.Histogram("transaction_seconds", "Duration of transactions of the northbound database.", prometheus.ExponentialBuckets(0.0005, 2, 16))
	m.Gauge("leader", "1 while this instance has the lease.", func() float64 { return agent.Flag(board.View().Status.Leader) })
	m.Gauge("rows", "Rows of the northbound database.", func() float64 { return float64(board.View().Status.Rows) })
	m.Gauge("northbound_connections", "Connections to the northbound database that were made.", func() float64 {
		if d := out.database.Load(); d != nil {
			return float64(d.connections.Load())
		}
		return 0
	})
	return out
}

func (m *metrics) connections(d *database) { m.database.Store(d) }
