// Package promtest evaluates the alerts of config/monitoring in tests, with Prometheus' own rule engine (promtool).
package promtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/yaml"

	"github.com/cluster-network-operator/cno/internal/apitest"
)

// Case is one state of a cluster, and the alerts that fire in it.
type Case struct {
	// Name describes the state.
	Name string
	// Series are the values of metrics, in promtool's notation ("0x60", "0+1x60"), by their names with labels. One value is
	// written each minute. They replace and extend those of a cluster without problems.
	Series map[string]string
	// After is when the alerts are evaluated.
	After time.Duration
	// Firing are the names of the alerts that fire; all others must not.
	Firing []string
	// Records are the values of recording rules, by their names with labels.
	Records map[string]float64
}

// healthy are the metrics without which an alert fires.
var healthy = map[string]string{
	`up{job="network-operator"}`: "1x2000",
	`leader_election_master_status{job="network-operator",name="network-operator-lock"}`: "1x2000",
}

// Alerts returns the names of all alerts that config/monitoring has.
func Alerts(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, g := range groups(t).Groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				names = append(names, r.Alert)
			}
		}
	}
	return names
}

// Run evaluates all alerts in each case, and fails the test for each alert that fires and should not, or does not and should.
func Run(t testing.TB, cases []Case) {
	t.Helper()
	out, err := exec.Command(filepath.Join(root(t), "hack", "promtool.sh")).Output()
	if err != nil {
		t.Fatalf("hack/promtool.sh: %v", err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules.yaml"), groups(t).raw)
	tests := make([]map[string]any, 0, len(cases))
	for _, c := range cases {
		tests = append(tests, c.test(Alerts(t)))
	}
	file := filepath.Join(dir, "tests.yaml")
	write(t, file, map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": tests})
	if out, err := exec.Command(strings.TrimSpace(string(out)), "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// test is a case as promtool reads it: the number of firing alerts of each name, at most 1.
func (c Case) test(alerts []string) map[string]any {
	all := maps.Clone(healthy)
	maps.Copy(all, c.Series)
	series := make([]map[string]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		series = append(series, map[string]string{"series": name, "values": all[name]})
	}
	expressions := make([]map[string]any, 0, len(alerts))
	for _, name := range alerts {
		samples := []map[string]any{}
		if slices.Contains(c.Firing, name) {
			samples = append(samples, map[string]any{"labels": "{}", "value": 1})
		}
		expressions = append(expressions, map[string]any{"eval_time": fmt.Sprintf("%ds", int(c.After.Seconds())),
			"expr": fmt.Sprintf("clamp_max(count(ALERTS{alertname=%q,alertstate=\"firing\"}), 1)", name), "exp_samples": samples})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Records)) {
		expressions = append(expressions, map[string]any{"eval_time": fmt.Sprintf("%ds", int(c.After.Seconds())), "expr": name,
			"exp_samples": []map[string]any{{"labels": name, "value": c.Records[name]}}})
	}
	return map[string]any{"name": c.Name, "interval": "1m", "input_series": series, "promql_expr_test": expressions}
}

// Constant returns the series of gathered metrics, which keep their values, as a Case takes them. It reads gauges only.
func Constant(families []*dto.MetricFamily) map[string]string {
	all := map[string]string{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if m.GetGauge() == nil {
				continue
			}
			labels := make([]string, 0, len(m.GetLabel()))
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			all[fmt.Sprintf("%s{%s}", family.GetName(), strings.Join(labels, ","))] = fmt.Sprintf("%gx2000", m.GetGauge().GetValue())
		}
	}
	return all
}

type ruleGroups struct {
	Groups []struct {
		Rules []struct{ Alert string }
	}
	// raw is the file of rules as Prometheus reads it.
	raw any
}

// groups reads the PrometheusRule.
func groups(t testing.TB) ruleGroups {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), "config/monitoring/base/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Spec ruleGroups }
	var plain struct{ Spec any }
	for _, into := range []any{&object, &plain} {
		if err := yaml.Unmarshal(content, into); err != nil {
			t.Fatal(err)
		}
	}
	object.Spec.raw = plain.Spec
	return object.Spec
}

func root(t testing.TB) string {
	t.Helper()
	dir, err := apitest.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, file string, value any) {
	t.Helper()
	content, err := yaml.Marshal(value)
	if err == nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
