package node

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/agent"
)

// metrics are the daemon's metrics.
type metrics struct {
	*agent.Metrics
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	// operations is nil in the policy daemon.
	operations *prometheus.HistogramVec
	mu         sync.Mutex
	// networks are the network names in operations.
	networks map[string]bool
}

// maxNetworks is the maximum number of networks with their own metrics, since tenants choose their names. Others are combined under otherNetworks.
const (
	maxNetworks   = 200
	otherNetworks = "other"
)

func newMetrics(version string, d *daemon) *metrics {
	m := &metrics{Metrics: agent.NewMetrics("multus", version)}
	m.Gauge("ready", "1 once the definitions of networks have been read.", func() float64 { return agent.Flag(d.board.View().Status.ready) })
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(d.board.View().Problems.Len()) })
	m.Gauge("sandboxes", "Sandboxes of pods on this node whose networks are attached.", func() float64 {
		all, _ := d.saved() // apply reports the error
		return float64(len(all))
	})
	m.requests = m.Results("requests_total", "Requests of the shim by the CNI code of their result; 0 is success.")
	m.took = m.Histograms("request_seconds", "How long a request of the shim takes.", "request", prometheus.ExponentialBuckets(0.001, 2, 14))
	m.networks = map[string]bool{}
	m.operations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "multus", Name: "operation_seconds", Buckets: prometheus.ExponentialBuckets(0.005, 2, 12),
		Help: "How long the plugins of a network run for a pod that has additional networks, by network and operation: ADD or DEL.",
	}, []string{"operation", "network"})
	m.MustRegister(m.operations)
	return m
}

// operation observes the duration of a network's plugins.
func (m *metrics) operation(operation, network string, took time.Duration) {
	m.mu.Lock()
	if !m.networks[network] && len(m.networks) >= maxNetworks {
		network = otherNetworks
	}
	m.networks[network] = true
	m.mu.Unlock()
	m.operations.WithLabelValues(operation, network).Observe(took.Seconds())
}

// observe adds the metrics of the objects that the daemon reads.
func (m *metrics) observe(o *objects) { m.MustRegister(newPodNetworks(o)) }

// Done counts a request.
func (m *metrics) Done(command string, code int, took time.Duration) {
	m.requests.WithLabelValues(strconv.Itoa(code)).Inc()
	if code == 0 {
		m.took.WithLabelValues(command).Observe(took.Seconds())
	}
}

// policyMetrics are the metrics of the policy daemon.
type policyMetrics struct {
	*metrics
	programmed prometheus.Histogram
	restored   prometheus.Counter
}

func newPolicyMetrics(version string, e *enforcer) *policyMetrics {
	m := &policyMetrics{metrics: &metrics{Metrics: agent.NewMetrics("multus_policy", version)}}
	m.Gauge("ready", "1 once the policies and pods of the cluster have been read.", func() float64 { return agent.Flag(e.board.View().Status.ready) })
	m.Gauge("problems", "Current problems; /readyz lists them.", func() float64 { return float64(e.board.View().Problems.Len()) })
	m.Gauge("sandboxes", "Sandboxes on this node whose additional networks policies may isolate.", func() float64 {
		e.mu.Lock()
		defer e.mu.Unlock()
		return float64(len(e.sandboxes))
	})
	m.requests = m.Results("requests_total", "Requests of the shim by the CNI code of their result; 0 is success.")
	m.took = m.Histograms("request_seconds", "How long a request of the shim takes.", "request", prometheus.ExponentialBuckets(0.001, 2, 14))
	m.programmed = m.Histogram("programming_seconds", "How long it takes to write the rules of one pod.", prometheus.ExponentialBuckets(0.001, 2, 14))
	m.restored = m.Counter("restored_total", "How often rules were restored after a change by a third party.")
	return m
}
