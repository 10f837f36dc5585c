package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	// Critical is traffic that fails, or a network that nobody looks after.
	Critical Severity = "critical"
	// Warning is what will become critical, or is on some nodes.
	Warning Severity = "warning"
	// Note is good to know.
	Note Severity = "note"
)

// Finding is one thing that looks wrong.
type Finding struct {
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Cause    string   `json:"cause"`
	WayOut   string   `json:"wayOut"`
}

// mostNamed is how many objects a finding names.
const mostNamed = 5

// judge says what looks wrong, the worst first.
func judge(f *collected, now time.Time) []Finding {
	all := []Finding{}
	all = append(all, judgeNetwork(f.objects[section{resource: networks}.name()])...)
	for _, name := range sortedSections(f, "/deployments", "/daemonsets") {
		all = append(all, judgeWorkloads(name, f.objects[name])...)
	}
	for _, name := range sortedSections(f, "/pods") {
		all = append(all, judgePods(f.objects[name], now)...)
	}
	all = append(all, judgeNodes(f.objects[section{resource: nodes}.name()])...)
	all = append(all, judgeChecks(f.objects[section{resource: checks}.name()])...)
	order := []Severity{Critical, Warning, Note}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return all
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

// told is a condition of any object; its status is empty if it has none.
type told struct{ status, reason, message string }

func condition(o map[string]any, kind string) told {
	list, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		if c["type"] == kind {
			text := func(key string) string { s, _ := c[key].(string); return s }
			return told{text("status"), text("reason"), text("message")}
		}
	}
	return told{}
}

// said joins a reason and a message.
func (c told) said() string {
	return strings.Trim(c.reason+": "+c.message, ": ")
}

func judgeNetwork(objects []map[string]any) []Finding {
	i := slices.IndexFunc(objects, func(o map[string]any) bool { return name(o) == "cluster" })
	if i < 0 {
		return []Finding{{Critical, "there is no Network.operator.openshift.io/cluster", "it was never created, or was deleted; what is deployed stays, and nobody looks after it",
			"create it: kubectl apply -f with what cno history shows, or one of config/samples"}}
	}
	o := objects[i]
	var all []Finding
	for _, row := range []struct {
		condition, bad string
		severity       Severity
		what, wayOut   string
	}{
		{"Available", "False", Critical, "the network is not available", "cno status names the component; its pods and logs are in the archive"},
		{"Degraded", "True", Critical, "the operator cannot do what Network/cluster says", "change what the message names, or go back: cno rollback"},
		{"Progressing", "True", Note, "the network is being changed", "wait, and follow it: cno status --watch"},
		{"Upgradeable", "False", Note, "the cluster should not be upgraded now", "change what the message names; a pause ends with cno resume"},
	} {
		if c := condition(o, row.condition); c.status == row.bad {
			all = append(all, Finding{row.severity, row.what, c.said(), row.wayOut})
		}
	}
	if (&unstructured.Unstructured{Object: o}).GetAnnotations()[pipeline.PausedAnnotation] == "true" {
		all = append(all, Finding{Warning, "the operator is paused: nothing is repaired", "the annotation " + pipeline.PausedAnnotation, "cno resume"})
	}
	return all
}

func name(o map[string]any) string { return (&unstructured.Unstructured{Object: o}).GetName() }

func judgeWorkloads(section string, objects []map[string]any) []Finding {
	var all []Finding
	for _, o := range objects {
		status, _, _ := unstructured.NestedMap(o, "status")
		count := func(key string) int64 { n, _, _ := unstructured.NestedInt64(status, key); return n }
		want, have := count("desiredNumberScheduled"), count("numberAvailable")
		severity, what := Warning, "is not available on %d of %d nodes"
		if strings.HasSuffix(section, "/deployments") {
			spec, _, _ := unstructured.NestedInt64(o, "spec", "replicas")
			want, have = spec, count("availableReplicas")
			what = "lacks %d of %d pods"
		}
		if have >= want && want > 0 {
			continue
		}
		if have == 0 {
			severity = Critical
		}
		where := strings.Replace(section, "/", " ", 1) + " " + name(o)
		if want == 0 {
			all = append(all, Finding{Warning, where + " is to run nowhere", "no node fits, or it was scaled to zero", "look at its node selector and replicas"})
			continue
		}
		all = append(all, Finding{severity, where + " " + fmt.Sprintf(what, want-have, want), "its pods are not ready; findings about pods say why", "see there; the rest repairs itself"})
	}
	return all
}

// starting is how long a pod may take before it looks wrong.
const starting = time.Minute

func judgePods(objects []map[string]any, now time.Time) []Finding {
	why := map[string][]string{}
	for _, p := range objects {
		o := unstructured.Unstructured{Object: p}
		phase, _, _ := unstructured.NestedString(p, "status", "phase")
		if podReady(p) || phase == "Succeeded" || now.Sub(o.GetCreationTimestamp().Time) < starting {
			continue
		}
		node, _, _ := unstructured.NestedString(p, "spec", "nodeName")
		cause := podCause(p)
		why[cause] = append(why[cause], fmt.Sprintf("%s/%s on %s", o.GetNamespace(), o.GetName(), cmp.Or(node, "no node")))
	}
	var all []Finding
	for cause, names := range why {
		slices.Sort(names)
		all = append(all, Finding{Warning, "pods are not ready: " + some(names), cause, podWayOut(cause)})
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.What, b.What) })
	return all
}

// podCause is why a pod is not ready, as its containers say.
func podCause(p map[string]any) string {
	for _, s := range containers(p) {
		container, _ := s["name"].(string)
		for _, state := range []string{"waiting", "terminated"} {
			reason, _, _ := unstructured.NestedString(s, "state", state, "reason")
			message, _, _ := unstructured.NestedString(s, "state", state, "message")
			last, _, _ := unstructured.NestedString(s, "lastState", "terminated", "message")
			if reason != "" && reason != "Completed" && reason != "PodInitializing" {
				return strings.Trim(fmt.Sprintf("container %s: %s: %s", container, reason, strings.TrimSpace(cmp.Or(last, message))), ": ")
			}
		}
	}
	for _, kind := range []string{"PodScheduled", "Ready"} {
		if c := condition(p, kind); c.status == "False" {
			return c.said()
		}
	}
	return "it does not say"
}

func podWayOut(cause string) string {
	for _, row := range [][2]string{
		{"ImagePull", "make the image available to the nodes; docs/install.md says where images are set"},
		{"CrashLoop", "the end of the log before the last restart says why; it is in the archive as .previous.log"},
		{"Unschedulable", "make a node fit: taints, selectors and room are in the message"},
		{"CreateContainerConfig", "create the ConfigMap or Secret that the message names, or wait for the operator to"},
	} {
		if strings.Contains(cause, row[0]) {
			return row[1]
		}
	}
	return "look at its log in the archive, and at the node's kubelet"
}

func judgeNodes(objects []map[string]any) []Finding {
	why := map[string][]string{}
	for _, o := range objects {
		if c := condition(o, "Ready"); c.status != "True" {
			cause := cmp.Or(c.said(), "its kubelet has never reported")
			why[cause] = append(why[cause], name(o))
		}
		if c := condition(o, "NetworkUnavailable"); c.status == "True" {
			why["NetworkUnavailable: "+c.said()] = append(why["NetworkUnavailable: "+c.said()], name(o))
		}
	}
	var all []Finding
	for cause, names := range why {
		slices.Sort(names)
		wayOut := "look at the node: its power, its link and its kubelet"
		if strings.Contains(strings.ToLower(cause), "cni") || strings.Contains(cause, "NetworkUnavailable") {
			wayOut = "look at the agent's pod on the node: it writes the configuration of the container runtime when it is ready"
		}
		all = append(all, Finding{Warning, fmt.Sprintf("%d of %d nodes are not ready: %s", len(names), len(objects), some(names)), cause, wayOut})
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Compare(a.What, b.What) })
	return all
}

func judgeChecks(objects []map[string]any) []Finding {
	var names []string
	cause := ""
	for _, o := range objects {
		if c := condition(o, "Reachable"); c.status == "False" {
			names, cause = append(names, name(o)), cmp.Or(cause, c.said())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []Finding{{Critical, "connectivity checks fail: " + some(names), cause, "cno connectivity test says which hop fails"}}
}

// some names the first few.
func some(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
