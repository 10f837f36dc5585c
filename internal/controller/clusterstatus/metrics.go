package clusterstatus

import (
	"errors"
	"slices"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/metric"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Metrics are metrics of conditions and rollouts.
type Metrics struct {
	condition     gauges
	age           gauges
	notResponding prometheus.Gauge
	events        *prometheus.CounterVec
}

// NewMetrics creates the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{condition: gauges{labels: 2}, age: gauges{labels: 3}}
	var errs [4]error
	m.condition.GaugeVec, errs[0] = metric.Registered(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_condition",
		Help: "1 for each condition that is True, 0 for each that is False, by its type and reason: of the network, its components, and the operator's controllers.",
	}, []string{"condition", "reason"}))
	m.age.GaugeVec, errs[1] = metric.Registered(registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "cluster_network_operator_rollout_start_timestamp_seconds",
		Help: "Start of the current rollout of a workload, in seconds since 1970; its age is time() minus this.",
	}, []string{"kind", "namespace", "name"}))
	m.notResponding, errs[2] = metric.Registered(registry, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "cluster_network_operator_nodes_not_responding",
		Help: "Number of nodes whose kubelet does not respond.",
	}))
	m.events, errs[3] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_network_events_total",
		Help: "Events of the network, by reason, such as starts and ends of rollouts, outages and degraded components.",
	}, []string{"reason"}))
	// Values of a previous operator in the same process are obsolete.
	m.condition.Reset()
	m.age.Reset()
	return m, errors.Join(errs[:]...)
}

// set sets the metrics from a decision.
func (m *Metrics) set(in status.Input, d status.Decision) {
	conditions, ages := map[[3]string]float64{}, map[[3]string]float64{}
	for _, c := range slices.Concat(d.Conditions, d.Controllers) {
		conditions[[3]string{c.Type, c.Reason}] = 0
		if c.Status == osv1.ConditionTrue {
			conditions[[3]string{c.Type, c.Reason}] = 1
		}
	}
	for w, since := range d.Rolling {
		ages[[3]string{w.Kind, w.Namespace, w.Name}] = float64(since.UnixNano()) / float64(time.Second)
	}
	m.condition.replace(conditions)
	m.age.replace(ages)
	gone := 0
	for _, n := range in.Nodes {
		if n.Unreachable {
			gone++
		}
	}
	m.notResponding.Set(float64(gone))
	for _, h := range d.Events {
		m.events.WithLabelValues(h.Reason).Inc()
	}
}

// gauges are gauges with a changing set of labels. A scrape never misses one that stays.
type gauges struct {
	*prometheus.GaugeVec
	labels  int
	current map[[3]string]float64
}

// replace replaces the values of the gauges.
func (g *gauges) replace(values map[[3]string]float64) {
	for key, value := range values {
		g.WithLabelValues(key[:g.labels]...).Set(value)
	}
	for key := range g.current {
		if _, stays := values[key]; !stays {
			g.DeleteLabelValues(key[:g.labels]...)
		}
	}
	g.current = values
}
