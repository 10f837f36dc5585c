package networks

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	monitoringDir = "../../config/monitoring/base/"
	// operatorJob is the job of the operator, which is no operand.
	operatorJob = "network-operator"
)

// serviceMonitor is what is read of a ServiceMonitor.
type serviceMonitor struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel          string `json:"jobLabel"`
		NamespaceSelector struct {
			MatchNames []string `json:"matchNames"`
		} `json:"namespaceSelector"`
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []endpoint           `json:"endpoints"`
	} `json:"spec"`
}

// endpoint is a port that Prometheus scrapes.
type endpoint struct {
	Port string `json:"port"`
}

// selects reports whether the monitor makes Prometheus scrape a port of a Service.
func (m serviceMonitor) selects(t *testing.T, s *corev1.Service, port string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	scraped := slices.ContainsFunc(m.Spec.Endpoints, func(e endpoint) bool { return e.Port == port })
	return scraped && slices.Contains(m.Spec.NamespaceSelector.MatchNames, s.Namespace) && selector.Matches(labels.Set(s.Labels))
}

// monitored is what config/monitoring refers to.
type monitored struct {
	// monitors are the ServiceMonitors of operands.
	monitors []serviceMonitor
	// services are the rendered Services without an address, by namespace and name. Prometheus finds pods by them.
	services map[string]*corev1.Service
	// sets are the names of the rendered DaemonSets.
	sets []string
}

func readMonitored(t *testing.T) monitored {
	t.Helper()
	m := monitored{services: map[string]*corev1.Service{}}
	for path, objects := range rendered(t) {
		if strings.Contains(path, "/providers/toy/") { // no release has the toy network
			continue
		}
		for _, o := range objects {
			switch o := o.(type) {
			case *unstructured.Unstructured:
				if !strings.HasPrefix(path, monitoringDir) || o.GetKind() != "ServiceMonitor" || o.GetName() == operatorJob {
					continue
				}
				var monitor serviceMonitor
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &monitor); err != nil {
					t.Fatalf("%s: %v", o.GetName(), err)
				}
				m.monitors = append(m.monitors, monitor)
			case *corev1.Service:
				if strings.HasSuffix(path, ".out.yaml") && o.Spec.ClusterIP == corev1.ClusterIPNone {
					m.services[o.Namespace+"/"+o.Name] = o
				}
			case *appsv1.DaemonSet:
				m.sets = append(m.sets, o.Name)
			}
		}
	}
	if len(m.monitors) == 0 || len(m.services) == 0 || len(m.sets) == 0 {
		t.Fatalf("found %d ServiceMonitors, %d Services and %d DaemonSets", len(m.monitors), len(m.services), len(m.sets))
	}
	return m
}

// TestEveryOperandWithMetricsIsScraped: one ServiceMonitor selects each port of the Services that exist for metrics, and none selects a
// namespace without such a Service. Its name is the value of the label job, which alerts and documents use.
func TestEveryOperandWithMetricsIsScraped(t *testing.T) {
	m := readMonitored(t)
	used := map[string]bool{}
	for name, service := range m.services {
		for _, port := range service.Spec.Ports {
			var by []string
			for _, monitor := range m.monitors {
				if !monitor.selects(t, service, port.Name) {
					continue
				}
				by = append(by, monitor.Name)
				used[monitor.Name+" in "+service.Namespace] = true
				if job := service.Labels[monitor.Spec.JobLabel]; job != monitor.Name {
					t.Errorf("ServiceMonitor %s: the label job of Service %s is %q", monitor.Name, name, job)
				}
			}
			if len(by) != 1 {
				t.Errorf("port %s of Service %s is selected by %d ServiceMonitors %v, want one in config/monitoring/base/metrics.yaml", port.Name, name, len(by), by)
			}
		}
	}
	namespaces := Registry().Operands().Names(nil)
	for _, monitor := range m.monitors {
		for _, ns := range monitor.Spec.NamespaceSelector.MatchNames {
			if !slices.Contains(namespaces, ns) {
				t.Errorf("ServiceMonitor %s: no network or component has namespace %s", monitor.Name, ns)
			}
			if !used[monitor.Name+" in "+ns] {
				t.Errorf("ServiceMonitor %s selects no Service in %s", monitor.Name, ns)
			}
		}
	}
}

// matcher is a matcher of PromQL; with =~, its value is a list of alternatives.
var matcher = regexp.MustCompile(`(namespace|daemonset|job)=~?"([^"]+)"`)

// TestAlertsNameOperands: an alert that names a job that Prometheus does not scrape, or a namespace or DaemonSet that no network has,
// never fires.
func TestAlertsNameOperands(t *testing.T) {
	rules, err := os.ReadFile(monitoringDir + "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m := readMonitored(t)
	known := map[string][]string{"namespace": Registry().Operands().Names(nil), "daemonset": m.sets, "job": {operatorJob}}
	for _, monitor := range m.monitors {
		known["job"] = append(known["job"], monitor.Name)
	}
	found := map[string]int{}
	for _, match := range matcher.FindAllStringSubmatch(string(rules), -1) {
		for value := range strings.SplitSeq(match[2], "|") {
			found[match[1]]++
			if !slices.Contains(known[match[1]], value) {
				t.Errorf("config/monitoring/base/rules.yaml has %s: no network or component has this %s", match[0], match[1])
			}
		}
	}
	for label := range known {
		if found[label] == 0 {
			t.Errorf("config/monitoring/base/rules.yaml has no matcher of %s", label)
		}
	}
}
