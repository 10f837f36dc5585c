package allowlist

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/manifest"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// valueOf returns the value of the variable in a DaemonSet.
func valueOf(t testing.TB, o manifest.Object) string {
	t.Helper()
	return typed(t, o).Spec.Template.Spec.Containers[0].Env[0].Value
}

func typed(t testing.TB, o manifest.Object) *appsv1.DaemonSet {
	t.Helper()
	ds := &appsv1.DaemonSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, ds); err != nil {
		t.Fatal(err)
	}
	return ds
}

// expand replaces what Kubernetes replaces in the value of a variable, where no other variable is known: $$ is a plain $.
func expand(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '$' && i+1 < len(value) && value[i+1] == '$' {
			i++
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

func configMap(list string) *corev1.ConfigMap {
	return &corev1.ConfigMap{Data: map[string]string{key: list}}
}

// installing returns a DaemonSet that has distributed a list to some of three nodes, and was created some time before noon.
func installing(t testing.TB, list string, to int32, ago time.Duration) *appsv1.DaemonSet {
	t.Helper()
	object, err := daemonSet(list, settings{Image: "i", Since: noon.Add(-ago)})
	if err != nil {
		t.Fatal(err)
	}
	ds := typed(t, object)
	ds.Generation = 1
	ds.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, UpdatedNumberScheduled: 3, NumberAvailable: to}
	return ds
}

func TestEveryStateHasItsStep(t *testing.T) {
	defaultValue, err := defaultList()
	if err != nil {
		t.Fatal(err)
	}
	const custom = "^mine$"
	pulling := corev1.Pod{Spec: corev1.PodSpec{NodeName: "worker-1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: "allowlist", Image: "i", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}}
	newer := installing(t, custom, 3, time.Hour)
	newer.Generation = 2
	for _, row := range []struct {
		why          string
		observation  observation
		create       string
		install      string // "" is nothing
		remove       bool
		finding      string // reason and a part of the message of the finding
		requeueAfter time.Duration
	}{
		{why: "without Multus there is nothing to do", observation: observation{Image: "i"}},
		{why: "a list is made", observation: observation{Multus: true, Image: "i"}, create: defaultValue},
		{why: "of what Multus installs", observation: observation{Multus: true, Image: "i", Default: configMap("^theirs$")}, create: "^theirs$"},
		{why: "unless that is wrong", observation: observation{Multus: true, Image: "i", Default: configMap("(")}, create: defaultValue},
		{why: "the default needs no one", observation: observation{Multus: true, List: configMap("\n" + defaultValue + "\n")}},
		{why: "another list is installed on nodes", observation: observation{Multus: true, Image: "i", List: configMap(custom)}, install: custom, finding: "Distributing the list is being distributed"},
		{why: "there is no image to install it", observation: observation{Multus: true, List: configMap(custom)}, finding: "NoImage set MULTUS_IMAGE"},
		{why: "some nodes have it", observation: observation{Multus: true, Image: "i", List: configMap(custom), DaemonSet: installing(t, custom, 2, time.Minute), Pods: []corev1.Pod{pulling}},
			install: custom, finding: "Distributing 2 of 3 nodes have the list (worker-1: ImagePullBackOff", requeueAfter: distributeTimeout - time.Minute},
		{why: "some nodes do not get it", observation: observation{Multus: true, Image: "i", List: configMap(custom), DaemonSet: installing(t, custom, 2, distributeTimeout), Pods: []corev1.Pod{pulling}},
			install: custom, finding: "AllowlistNotDistributed worker-1"},
		{why: "all nodes have it, and those that come later get it", observation: observation{Multus: true, Image: "i", List: configMap(custom), DaemonSet: installing(t, custom, 3, time.Hour)}, install: custom},
		{why: "a change that has not been looked at", observation: observation{Multus: true, Image: "i", List: configMap(custom), DaemonSet: newer}, install: custom, finding: "AllowlistNotDistributed 3 of 3"},
		{why: "it changes again", observation: observation{Multus: true, Image: "i", List: configMap("^new$"), DaemonSet: installing(t, custom, 3, time.Hour)}, install: "^new$", finding: "Distributing"},
		{why: "a mistake leaves nodes as they are", observation: observation{Multus: true, Image: "i", List: configMap("("), DaemonSet: installing(t, custom, 3, time.Hour)}, finding: "InvalidAllowlist nodes keep their current list"},
		{why: "deleted, the default is restored on nodes, too", observation: observation{Multus: true, Image: "i", DaemonSet: installing(t, custom, 3, time.Hour)},
			create: defaultValue, install: defaultValue, finding: "Distributing"},
		{why: "not all nodes have it back", observation: observation{Multus: true, Image: "i", List: configMap(defaultValue), DaemonSet: installing(t, defaultValue, 2, 0)}, install: defaultValue, finding: "Distributing 2 of 3", requeueAfter: distributeTimeout},
		{why: "all nodes have it back", observation: observation{Multus: true, Image: "i", List: configMap(defaultValue), DaemonSet: installing(t, defaultValue, 3, time.Minute)}, remove: true},
		{why: "what OpenShift's operator has left", observation: observation{Multus: true, Image: "i", List: configMap(defaultValue), DaemonSet: &appsv1.DaemonSet{}}, install: defaultValue, finding: "Distributing"},
		{why: "an empty list is one", observation: observation{Multus: true, Image: "i", List: configMap(""), DaemonSet: &appsv1.DaemonSet{}}, install: "", finding: "Distributing"},
	} {
		t.Run(row.why, func(t *testing.T) {
			row.observation.Now = noon
			d, err := decide(row.observation)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.create, deref(d.Create)); diff != "" {
				t.Error("created", diff)
			}
			if diff := cmp.Diff(row.install, deref(d.Distribute)); diff != "" {
				t.Error("brought", diff)
			}
			if d.Remove != row.remove || d.RequeueAfter != row.requeueAfter {
				t.Errorf("removed %v, again after %v", d.Remove, d.RequeueAfter)
			}
			reason, part, _ := strings.Cut(row.finding, " ")
			switch {
			case reason == "" && len(d.Findings) == 0:
			case len(d.Findings) != 1 || d.Findings[0].Reason != reason || !strings.Contains(d.Findings[0].Message, part) || !d.Findings[0].Aside:
				t.Errorf("got %+v, want %s", d.Findings, row.finding)
			}
		})
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestManyNodesAreCounted(t *testing.T) {
	w := observation{}
	for _, node := range []string{"e", "d", "c", "b", "a"} {
		w.Pods = append(w.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: corev1.PodSpec{NodeName: node}})
	}
	if got := pendingNodes(w); got != " (a: Starting, b: Starting, c: Starting, and 2 more)" {
		t.Error(got)
	}
}

func TestOverridesReachTheInstallerOfLists(t *testing.T) {
	most := intstr.FromInt32(2)
	object, err := daemonSet("list", settings{Image: "i", Since: noon, Workloads: []operatorv1.Workload{
		{Name: workload, PriorityClassName: "mine", UpdateStrategy: &operatorv1.WorkloadUpdateStrategy{MaxUnavailable: most}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ds := typed(t, object)
	if ds.Spec.Template.Spec.PriorityClassName != "mine" || *ds.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable != most || listOf(ds) != "list" {
		t.Errorf("the DaemonSet has %q, %v and the list %q", ds.Spec.Template.Spec.PriorityClassName, ds.Spec.UpdateStrategy, listOf(ds))
	}
}
