package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/multinet/finding"
	"github.com/cluster-network-operator/cno/internal/phrase"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/status"
)

// Severity is the severity of a finding.
type Severity string

// The severities, the most severe first.
const (
	// Critical means that traffic fails, or that the network is not managed.
	Critical Severity = "critical"
	// Warning means that the problem will become critical, or affects only some nodes.
	Warning Severity = "warning"
	// Note is information.
	Note Severity = "note"
)

// Finding is one problem.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Cause    string   `json:"cause"`
	WayOut   string   `json:"wayOut"`
}

// mostNamed is the maximum number of objects that a finding names.
const mostNamed = 5

// evaluate returns the problems, the most severe first. namespace is that of the operator. It omits effects whose cause is
// another finding.
func evaluate(f *collected, namespace string, now time.Time) []Finding {
	all := append([]Finding{}, operatorFindings(f, namespace, now)...)
	working := len(all) == 0
	nodes := f.objects[section{resource: nodes}.name()]
	spare := working && isSpare(f, namespace, nodes)
	known := effects{unreachable: unreachableNodes(nodes), message: degradedMessage(f)}
	all = append(all, writeFindings(f)...)
	all = append(all, absentFindings(f.absent, working)...)
	all = append(all, networkFindings(f)...)
	for _, name := range sortedSections(f, "/pods") {
		objects := without(f.objects[name], name == namespace+"/pods" && !working)
		if name == namespace+"/pods" && spare {
			objects = scheduled(objects)
		}
		all = append(all, podFindings(objects, known, now)...)
	}
	known.pods = failingNodes(f, now)
	for _, name := range sortedSections(f, "/deployments", "/daemonsets") {
		all = append(all, workloadFindings(name, without(f.objects[name], name == namespace+"/deployments" && (!working || spare)), f, known)...)
	}
	all = append(all, nodeFindings(nodes, known)...)
	all = append(all, addressFindings(f.hostPods, nodes, known.unreachable)...)
	all = append(all, checkFindings(f.objects[section{resource: checks}.name()], known)...)
	all = append(all, furtherNetworkFindings(f.objects[section{resource: definitions}.name()], f.objects[section{resource: multiPolicies}.name()],
		f.objects[section{resource: pods, namespace: finding.Namespace}.name()], f.objects[section{resource: guards}.name()])...)
	all = append(all, symptomFindings(f.symptoms)...)
	order := []Severity{Critical, Warning, Note}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return all
}

// without drops the operator's Deployment and its pods from objects if drop is true, since they have a finding of their own.
func without(objects []map[string]any, drop bool) []map[string]any {
	if !drop {
		return objects
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o map[string]any) bool {
		return name(o) == status.OperatorDeployment || strings.HasPrefix(name(o), status.OperatorDeployment+"-")
	})
}

func sortedSections(f *collected, endings ...string) []string {
	var names []string
	for name := range f.objects {
		if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(name, e) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// state is a condition of an object; its status is empty if there is none.
type state struct{ status, reason, message string }

func condition(o map[string]any, kind string) state {
	list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		if c["type"] == kind {
			text := func(key string) string { s, _ := c[key].(string); return s }
			return state{text("status"), text("reason"), text("message")}
		}
	}
	return state{}
}

// text joins a reason and a message. The message of several findings has the reason of each.
func (c state) text() string {
	if strings.HasPrefix(c.message, c.reason+": ") {
		return c.message
	}
	return strings.Trim(c.reason+": "+c.message, ": ")
}

// networkFindings reports the conditions of Network/cluster.
func networkFindings(f *collected) []Finding {
	if f.forbidden[section{resource: networkObjects}.name()] {
		return []Finding{{Warning, "the state of the network is unknown", "no permission to read networks.operator.openshift.io", "run the command as a user who may get, list and watch it"}}
	}
	o, _ := f.named(section{resource: networkObjects}.name(), "cluster")
	if o == nil {
		return []Finding{{Critical, "Network.operator.openshift.io/cluster does not exist", "it was never created, or was deleted; the network keeps running and is not managed", status.WayOutOf("NoOperConfig", "")}}
	}
	var all []Finding
	for _, row := range []struct {
		condition, bad string
		severity       Severity
		what           string
	}{
		{"Available", "False", Critical, "the network is not available"},
		{"Degraded", "True", Critical, "the network is degraded"},
		{"Progressing", "True", Note, "the network is being changed"},
		{"Upgradeable", "False", Note, "the cluster should not be upgraded now"},
	} {
		c := condition(o, row.condition)
		repeated := slices.ContainsFunc(all, func(f Finding) bool { return f.Cause == c.text() })
		if c.status != row.bad || repeated || c.reason == "Paused" {
			continue
		}
		wayOut := status.WayOutOf(c.reason, c.message, f.wayOuts...)
		if row.condition == "Progressing" && !slices.ContainsFunc(f.wayOuts, func(w status.WayOut) bool { return w.Reason == c.reason }) {
			wayOut = "wait, and follow it: cno status --watch"
		}
		all = append(all, Finding{row.severity, row.what, cmp.Or(c.text(), "the condition "+row.condition+" has no message"), wayOut})
	}
	return append(all, annotationFindings(o)...)
}

// annotationFindings reports a pause, and annotations without effect.
func annotationFindings(o map[string]any) []Finding {
	annotations := (&unstructured.Unstructured{Object: o}).GetAnnotations()
	var all []Finding
	for _, problem := range pipeline.AnnotationProblems(annotations) {
		all = append(all, Finding{Warning, "an annotation of Network/cluster has no effect", problem, "correct or remove the annotation"})
	}
	if annotations[pipeline.PausedAnnotation] != "true" {
		return all
	}
	cause := "the annotation " + pipeline.PausedAnnotation
	if c := condition(o, "Upgradeable"); c.reason == "Paused" {
		cause = c.message
	}
	return append(all, Finding{Warning, "the operator is paused: nothing is repaired", cause, status.WayOutOf("Paused", "")})
}

func name(o map[string]any) string { return (&unstructured.Unstructured{Object: o}).GetName() }

// workloadFindings reports workloads that lack pods, unless another finding reports these pods or their nodes.
func workloadFindings(section string, objects []map[string]any, f *collected, known effects) []Finding {
	ns, plural, _ := strings.Cut(section, "/")
	var all []Finding
	for _, o := range objects {
		desired, available, kind := counts(plural, o)
		if desired == 0 {
			all = append(all, nowhere(section, o))
			continue
		}
		if available >= desired || known.explains(ns, name(o), f.objects[ns+"/pods"], desired-available) {
			continue
		}
		severity := Warning
		if available == 0 {
			severity = Critical
		}
		all = append(all, Finding{severity, fmt.Sprintf("%s %s/%s: %d of %d pods are available", kind, ns, name(o), available, desired),
			"pods are missing or have just been created", fmt.Sprintf("kubectl -n %s describe %s %s has the events", ns, strings.ToLower(kind), name(o))})
	}
	return all
}

// counts returns the numbers of desired and available pods of a workload.
func counts(plural string, o map[string]any) (desired, available int64, kind string) {
	count := func(fields ...string) int64 { n, _, _ := unstructured.NestedInt64(o, fields...); return n }
	if plural == "deployments" {
		return count("spec", "replicas"), count("status", "availableReplicas"), "Deployment"
	}
	return count("status", "desiredNumberScheduled"), count("status", "numberAvailable"), "DaemonSet"
}

// nowhere returns the finding about a workload without desired pods.
func nowhere(section string, o map[string]any) Finding {
	ns, kind, _ := strings.Cut(section, "/")
	if kind == "deployments" {
		return Finding{Warning, fmt.Sprintf("Deployment %s/%s is scaled to 0", ns, name(o)), "spec.replicas is 0", fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=1", ns, name(o))}
	}
	return Finding{Warning, fmt.Sprintf("DaemonSet %s/%s runs on no node", ns, name(o)), "no node matches its node selector and affinity", fmt.Sprintf("compare kubectl -n %s get daemonset %s -o yaml with kubectl get nodes --show-labels", ns, name(o))}
}

// podFindings reports pods that are not ready, one finding for each cause.
func podFindings(objects []map[string]any, known effects, now time.Time) []Finding {
	why := map[podProblem][]string{}
	for _, o := range objects {
		p, failing := failingPod(o, now)
		if !failing || known.unreachable[p.Node] || strings.Contains(known.message, p.Name) {
			continue
		}
		cause := podProblem{p.Problem, p.Detail}
		why[cause] = append(why[cause], fmt.Sprintf("%s/%s on %s", (&unstructured.Unstructured{Object: o}).GetNamespace(), p.Name, cmp.Or(p.Node, "no node")))
	}
	var all []Finding
	for cause, names := range why {
		slices.Sort(names)
		all = append(all, Finding{Warning, "pods are not ready: " + some(names), cause.text(), status.WayOutOf(string(cause.problem), cause.detail)})
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.What, b.What) })
	return all
}

// nodeFindings reports nodes that are not ready, unless a pod of the network on them is the cause.
func nodeFindings(objects []map[string]any, known effects) []Finding {
	why := map[string][]string{}
	for _, o := range objects {
		c, unavailable := condition(o, "Ready"), condition(o, "NetworkUnavailable")
		switch {
		case known.pods[name(o)] && strings.Contains(strings.ToLower(c.message), "network"):
		case c.status != "True":
			cause := cmp.Or(c.text(), "its kubelet has never reported")
			why[cause] = append(why[cause], name(o))
		case unavailable.status == "True":
			why["NetworkUnavailable: "+unavailable.text()] = append(why["NetworkUnavailable: "+unavailable.text()], name(o))
		}
	}
	var all []Finding
	for cause, names := range why {
		slices.Sort(names)
		wayOut := "check the node: its power, its link and its kubelet"
		if strings.Contains(strings.ToLower(cause), "cni") || strings.Contains(cause, "NetworkUnavailable") {
			wayOut = "check the agent's pod on the node: it writes the configuration of the container runtime when it is ready"
		}
		all = append(all, Finding{Warning, fmt.Sprintf("%d of %d nodes are not ready: %s", len(names), len(objects), some(names)), cause, wayOut})
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.What, b.What) })
	return all
}

// checkFindings reports failing connectivity checks, except those of unreachable nodes.
func checkFindings(objects []map[string]any, known effects) []Finding {
	var names []string
	cause := ""
	for _, o := range objects {
		if c := condition(o, "Reachable"); c.status == "False" && !known.ofUnreachable(name(o)) {
			names, cause = append(names, name(o)), cmp.Or(cause, c.text())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []Finding{{Critical, "connectivity checks fail: " + some(names), cmp.Or(cause, "the checks have no message"), "cno connectivity test names the hop that fails"}}
}

// some joins the first few names.
func some(names []string) string {
	return phrase.Names(names, mostNamed)
}
