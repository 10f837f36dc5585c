package clusterstatus

import (
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/promtest"
	"github.com/cluster-network-operator/cno/internal/status"
)

// published returns the metrics of a decision as Prometheus scrapes them.
func published(t *testing.T, d status.Decision) map[string]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.set(status.Input{}, d)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return promtest.Constant(families)
}

func TestAlertsFireForTheConditionsThatTheOperatorPublishes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	decide := func(findings ...status.Finding) status.Decision {
		return status.Decide(status.Input{Now: now, Applied: true, Findings: findings, Memory: status.Memory{Installed: []string{""}}})
	}
	finding := func(effect status.Effect, reason string) status.Finding {
		return status.Finding{Effect: effect, Reason: reason, Message: "m", Immediate: true}
	}
	starting := status.Decision{Conditions: []osv1.OperatorCondition{{Type: "Available", Status: osv1.ConditionFalse, Reason: "Startup"}}}
	cases := []promtest.Case{
		{Name: "as expected", After: 25 * time.Hour, Series: published(t, decide())},
		{Name: "an installation is no outage", After: 25 * time.Hour, Series: published(t, starting)},
	}
	for _, row := range []struct {
		alerts  []string
		finding status.Finding
	}{
		{[]string{"NetworkUnavailable"}, finding(status.Unavailable, "WorkloadDown")},
		{[]string{"NetworkDegraded"}, finding(status.Degraded, "InvalidOperatorConfig")},
		{[]string{"NetworkDegraded", "NetworkRolloutStalled"}, finding(status.Degraded, "RolloutHung")},
		{[]string{"NetworkDegraded", "NetworkFightDetected"}, finding(status.Degraded, "FightDetected")},
		{[]string{"NetworkOperatorPaused"}, finding(status.NotUpgradeable, "Paused")},
	} {
		cases = append(cases, promtest.Case{Name: row.finding.Reason, After: 25 * time.Hour, Series: published(t, decide(row.finding)), Firing: row.alerts})
	}
	promtest.Run(t, cases)
}
