package monitoring

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// panel is what a panel of a dashboard must have.
type panel struct {
	ID                                   int
	Title, Description, Type, Datasource string
	Targets                              []struct{ Expr, LegendFormat string }
}

func TestDashboardsAreValidForGrafanaAndTheConsole(t *testing.T) {
	all := Dashboards()
	if files, err := os.ReadDir("dashboards"); err != nil || len(files) != len(all) {
		t.Errorf("%d of %d files are dashboards, %v", len(all), len(files), err)
	}
	for name, content := range all {
		var d struct {
			UID, Title    string
			SchemaVersion int
			Templating    struct{ List []struct{ Name, Type string } }
			Rows          []struct{ Panels []panel }
		}
		if err := json.Unmarshal([]byte(content), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.UID != name || d.Title == "" || len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" {
			t.Errorf("%s: uid %q, title %q, variables %v", name, d.UID, d.Title, d.Templating.List)
		}
		seen := map[int]bool{}
		for _, row := range d.Rows {
			for _, p := range row.Panels {
				if seen[p.ID] || p.Title == "" || p.Description == "" || p.Datasource != "$datasource" || len(p.Targets) == 0 {
					t.Errorf("%s: panel %d %q is not whole, or there are two", name, p.ID, p.Title)
				}
				seen[p.ID] = true
				for _, target := range p.Targets {
					checkExpression(t, name+": "+p.Title, target.Expr)
				}
			}
		}
	}
}

func TestEveryAlertHasItsPageAndItsMetrics(t *testing.T) {
	content, err := os.ReadFile("base/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(root, "docs/controllers/dashboards.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert, Record       string
					Expr, For           string
					Labels, Annotations map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal(content, &rules); err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, group := range rules.Spec.Groups {
		for _, r := range group.Rules {
			if r.Record != "" {
				checkExpression(t, r.Record, r.Expr)
				continue
			}
			page := r.Alert + ".md"
			pages[page] = true
			text, err := os.ReadFile(filepath.Join(root, "docs/runbooks", page))
			if err != nil || !strings.HasPrefix(string(text), "# "+r.Alert+"\n") {
				t.Errorf("%s: its page does not begin with its name: %v", r.Alert, err)
			}
			if row := fmt.Sprintf("| [%s](../runbooks/%s) | %s |\n", r.Alert, page, r.Labels["severity"]); !strings.Contains(string(table), row) {
				t.Errorf("%s: docs/controllers/dashboards.md lacks %s", r.Alert, row)
			}
			if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/runbooks/"+page) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
			}
			if severity := r.Labels["severity"]; r.For == "" || severity != "critical" && severity != "warning" {
				t.Errorf("%s: for %q, severity %q", r.Alert, r.For, severity)
			}
			checkExpression(t, r.Alert, r.Expr)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "docs/runbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !pages[entry.Name()] {
			t.Errorf("docs/runbooks/%s is of no alert", entry.Name())
		}
	}
}

var (
	metric = regexp.MustCompile(`[a-z_]+_[a-z_A-Z]+`)
	quoted = regexp.MustCompile(`"[^"]*"`)
	// others are the metrics of other programs: kubelet, node exporter, kube-state-metrics, and libraries.
	others = regexp.MustCompile(`^(container_network|node_network|node_nf_conntrack|node_netstat_Tcp|kube_daemonset_status|kube_pod_container|kubeproxy_sync_proxy_rules|etcd_mvcc|etcd_server|controller_runtime_reconcile|leader_election_master|process_resident_memory|rest_client_requests|workqueue)_`)
	// words are functions and labels that look like metrics.
	words = []string{"histogram_quantile", "ip_family", "operation_type"}
)

// checkExpression checks that parentheses match and that every metric exists: this project's in its source, the others
// among those that are known.
func checkExpression(t *testing.T, where, expression string) {
	t.Helper()
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expression, pair[:1]) != strings.Count(expression, pair[1:]) {
			t.Errorf("%s: %s do not match in %s", where, pair, expression)
		}
	}
	for _, name := range metric.FindAllString(quoted.ReplaceAllString(expression, ""), -1) {
		switch {
		case strings.HasPrefix(name, "cluster_network_operator_"), strings.HasPrefix(name, "network_attachment_definition_"):
			if !slices.Contains(ownMetrics(t), name) {
				t.Errorf("%s: no program here has the metric %s", where, name)
			}
		case strings.HasPrefix(name, "ovnkube_"), strings.HasPrefix(name, "flanneld_"), strings.HasPrefix(name, "openshift_sdn_"), strings.HasPrefix(name, "sdn_controller_"), strings.HasPrefix(name, "multus_"):
			if !agentMetric(t, name) {
				t.Errorf("%s: no agent or master has the metric %s", where, name)
			}
		case !slices.Contains(words, name) && !others.MatchString(name):
			t.Errorf("%s: %s is neither a metric of this project nor one of those that are known", where, name)
		}
	}
}

// agentMetric reports whether an agent or a master has a metric: its source has the part of the name behind that of the program.
func agentMetric(t *testing.T, name string) bool {
	t.Helper()
	for program, file := range map[string]string{"flanneld_": "providers/flannel/node/metrics.go", "ovnkube_node_": "providers/ovnkubernetes/node/metrics.go", "ovnkube_master_": "providers/ovnkubernetes/master/metrics.go",
		"multus_": "providers/multus/node/metrics.go", "multus_policy_": "providers/multus/node/metrics.go", "multus_dhcp_": "providers/multus/node/dhcp.go",
		"ovnkube_ipsec_": "providers/ovnkubernetes/node/ipsec/metrics.go", "openshift_sdn_": "providers/openshiftsdn/node/metrics.go", "sdn_controller_": "providers/openshiftsdn/controller/metrics.go"} {
		if metric, is := strings.CutPrefix(name, program); is {
			source, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			// The names of several programs may begin alike.
			if strings.Contains(string(source), strconv.Quote(strings.TrimSuffix(metric, "_bucket"))) {
				return true
			}
		}
	}
	return false
}

// ownMetrics returns the names of metrics that the source of this project has.
func ownMetrics(t *testing.T) (names []string) {
	t.Helper()
	literal := regexp.MustCompile(`"((?:cluster_network_operator|network_attachment_definition)_[a-z_]+)"`)
	collect := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, match := range literal.FindAllStringSubmatch(string(content), -1) {
			names = append(names, match[1])
		}
		return err
	}
	for _, dir := range []string{"internal", "providers"} {
		if err := filepath.WalkDir(filepath.Join(root, dir), collect); err != nil {
			t.Fatal(err)
		}
	}
	return names
}
