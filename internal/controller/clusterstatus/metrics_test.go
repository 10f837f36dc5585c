package clusterstatus

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	osv1 "github.com/openshift/api/operator/v1"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/status"
)

// selector is the metric in an expression of an alert, with its matchers.
var (
	selector = regexp.MustCompile(`cluster_network_operator_condition\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`(\w+)(=~|!=|!~|=)"([^"]*)"`)
)

// expressions are those of the alerts.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile("../../../config/monitoring/base/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
	}
	if err := yaml.Unmarshal(content, &rules); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			all[r.Alert] = r.Expr
		}
	}
	return all
}

// matches reports whether a series with some labels is one that the matchers of a selector select.
func matches(matchers string, labels map[string]string) bool {
	for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
		value, exists := labels[m[1]]
		same := value == m[3]
		if strings.HasSuffix(m[2], "~") {
			same = regexp.MustCompile("^(?:" + m[3] + ")$").MatchString(value)
		}
		if !exists || same == strings.HasPrefix(m[2], "!") {
			return false
		}
	}
	return true
}

// fires reports whether an alert on conditions fires for the metrics of a decision: a selected series is 1, or 0 where the
// expression inverts it.
func fires(t *testing.T, expression string, d status.Decision) bool {
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
	bad := 1.0
	if strings.Contains(expression, "1 - ") {
		bad = 0
	}
	for _, family := range families {
		if family.GetName() != "cluster_network_operator_condition" {
			continue
		}
		for _, series := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range series.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if matches(selector.FindStringSubmatch(expression)[1], labels) && series.GetGauge().GetValue() == bad {
				return true
			}
		}
	}
	return false
}

func TestAlertsFireForTheConditionsThatTheOperatorPublishes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	decide := func(findings ...status.Finding) status.Decision {
		return status.Decide(status.Input{Now: now, Applied: true, Findings: findings, Memory: status.Memory{Installed: []string{""}}})
	}
	finding := func(effect status.Effect, reason string) status.Finding {
		return status.Finding{Effect: effect, Reason: reason, Message: "m", Immediate: true}
	}
	well, all := decide(), expressions(t)
	for _, row := range []struct {
		alert   string
		finding status.Finding
	}{
		{"NetworkUnavailable", finding(status.Unavailable, "WorkloadDown")},
		{"NetworkDegraded", finding(status.Degraded, "InvalidOperatorConfig")},
		{"NetworkRolloutStalled", finding(status.Degraded, "RolloutHung")},
		{"NetworkFightDetected", finding(status.Degraded, "FightDetected")},
		{"NetworkOperatorPaused", finding(status.NotUpgradeable, "Paused")},
	} {
		expression := all[row.alert]
		if expression == "" {
			t.Fatalf("there is no alert %s", row.alert)
		}
		if fires(t, expression, well) {
			t.Errorf("%s fires although all is well", row.alert)
		}
		if !fires(t, expression, decide(row.finding)) {
			t.Errorf("%s does not fire for %s: %s", row.alert, row.finding.Reason, expression)
		}
	}
	starting := status.Decision{Conditions: []osv1.OperatorCondition{{Type: "Available", Status: osv1.ConditionFalse, Reason: "Startup"}}}
	if fires(t, all["NetworkUnavailable"], starting) {
		t.Error("an installation is an outage")
	}
}
