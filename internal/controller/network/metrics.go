package network

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/metric"
	"github.com/cluster-network-operator/cno/internal/plan"
)

// Phases of a reconcile.
const (
	phaseRecords = "records"
	phaseRender  = "render"
	phaseRollOut = "rollout"
)

// repairable are the kinds whose counters of repairs start at 0.
var repairable = [...]string{"ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Deployment", "Namespace", "NetworkPolicy", "Role", "RoleBinding", "Service", "ServiceAccount"}

// Metrics measure reconciles, refusals and repairs. A nil Metrics is valid and counts nothing.
type Metrics struct {
	phases   *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	repairs  *prometheus.CounterVec
	actions  *prometheus.CounterVec
}

// NewMetrics creates the metrics and registers them, unless the registry has them already.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{}
	var errs [4]error
	m.phases, errs[0] = metric.Registered(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "cluster_network_operator_phase_duration_seconds",
		Help:    "How long a phase of a reconcile of the network takes: reading records, the pipeline from the specification to objects, and the rollout, its API calls included.",
		Buckets: []float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10},
	}, []string{"phase"}))
	m.refusals, errs[1] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_refusals_total",
		Help: "Configurations that were refused, and reconciles that failed permanently, by the reason of the condition.",
	}, []string{"reason"}))
	m.repairs, errs[2] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_drift_repairs_total",
		Help: "Objects that other clients had modified or deleted and that the operator restored, by kind.",
	}, []string{"kind"}))
	m.actions, errs[3] = metric.Registered(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cluster_network_operator_actions_total",
		Help: "Writes of the network's objects, by verb: create, apply, recreate or delete.",
	}, []string{"verb"}))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for _, kind := range repairable {
		m.repairs.WithLabelValues(kind) // rate() only includes the first repair if the counter exists before
	}
	return m, nil
}

// phase observes the duration of a phase, and returns its end.
func (m *Metrics) phase(name string, start, ended time.Time) time.Time {
	if m != nil {
		m.phases.WithLabelValues(name).Observe(ended.Sub(start).Seconds())
	}
	return ended
}

func (m *Metrics) refusal(reason string) {
	if m != nil {
		m.refusals.WithLabelValues(reason).Inc()
	}
}

// countActions counts actions and repairs.
func (m *Metrics) countActions(all, repaired []plan.Action) {
	if m == nil {
		return
	}
	for _, a := range all {
		m.actions.WithLabelValues(string(a.Verb)).Inc()
	}
	for _, a := range repaired {
		m.repairs.WithLabelValues(a.Key.Kind).Inc()
	}
}
