package uninstall

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/plan"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// call runs the command against the test's API server.
func call(t *testing.T, args ...string) (stdout string, status int) {
	t.Helper()
	var out, errOut strings.Builder
	cmd := New()
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", apitest.Shared(t).Kubeconfig))
	status = exit.Report(&errOut, "cno", cmd.ExecuteContext(t.Context()))
	return out.String() + errOut.String(), status
}

func agents(namespace string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	kind := corev1.HostPathDirectoryOrCreate
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent", Labels: map[string]string{manifest.LabelManagedBy: manifest.ManagedBy},
			Annotations: map[string]string{manifest.AnnotationCleanup: `["/agent","cleanup"]`}},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{HostNetwork: true, InitContainers: []corev1.Container{{Name: "install", Image: "agent:1"}},
				Volumes: []corev1.Volume{{Name: "state", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/agent", Type: &kind}}}},
				Containers: []corev1.Container{{Name: "agent", Image: "agent:1", Args: []string{"run"}, Ports: []corev1.ContainerPort{{ContainerPort: 1, HostPort: 1}},
					VolumeMounts: []corev1.VolumeMount{{Name: "state", MountPath: "/state"}}}}},
		}},
	}
}

func TestItSaysWhatItWouldDoAndDoesNothing(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	set := agents(ns)
	server.Create(t, set)
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ours", Labels: set.Labels}}
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "taken", Labels: set.Labels}}
	server.Create(t, ours)
	server.Create(t, taken)
	out, status := call(t, "--yes", "-n", ns)
	if status != exit.Refused || !strings.Contains(out, "to go by it: --force") {
		t.Errorf("without records it ends with %d:\n%s", status, out)
	}
	inventory := plan.Inventory{{Key: manifest.Key{Kind: "ConfigMap", Namespace: ns, Name: "taken"}, Version: "v1", Adopted: true}}
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: plan.InventoryName}, Data: inventory.Data()})

	out, status = call(t, "-n", ns, "-o", "json")
	var res result
	if err := json.Unmarshal([]byte(out), &res); err != nil || status != exit.Refused || res.Done {
		t.Fatalf("it ends with %d, %v:\n%s", status, err, out)
	}
	for name, want := range map[string]bool{"DaemonSet " + ns + "/agent": true, "ConfigMap " + ns + "/ours": true, "ConfigMap " + ns + "/taken": false,
		"CustomResourceDefinition networks.operator.openshift.io": true, "Namespace " + ns: true} {
		if got := slices.Contains(res.Deleted, name); got != want {
			t.Errorf("%s is listed: %t, want %t", name, got, want)
		}
	}
	if len(res.Stays) != 1 || !strings.Contains(res.Stays[0], "taken: it was there before") {
		t.Errorf("stays: %q", res.Stays)
	}
	if agent, kind := slices.Index(res.Deleted, "DaemonSet "+ns+"/agent"), slices.Index(res.Deleted, "CustomResourceDefinition networks.operator.openshift.io"); agent > kind {
		t.Error("the definitions go before the agents")
	}
	if text, _ := call(t, "-n", ns); !strings.Contains(text, "To do it: cno uninstall --yes") {
		t.Errorf("it does not say how:\n%s", text)
	}
	for _, o := range []*corev1.ConfigMap{ours, taken} {
		if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.DeletionTimestamp != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

func TestACleanerIsTheAgentWithAnotherCommand(t *testing.T) {
	set := agents("ns")
	got, err := cleaner(set, "operator:1")
	if err != nil {
		t.Fatal(err)
	}
	pod := got.Spec.Template.Spec
	if len(pod.InitContainers) != 1 || !slices.Equal(pod.InitContainers[0].Command, []string{"/agent", "cleanup"}) || pod.InitContainers[0].Args != nil ||
		pod.InitContainers[0].Image != "agent:1" || len(pod.InitContainers[0].VolumeMounts) != 1 || len(pod.InitContainers[0].Ports) != 0 {
		t.Errorf("it cleans with %+v", pod.InitContainers)
	}
	if pod.Containers[0].Image != "operator:1" || !pod.HostNetwork {
		t.Errorf("%+v", pod)
	}
	if _, err := cleaner(set, ""); err == nil {
		t.Error("without an image there is nothing that could run")
	}
	set.Annotations = nil
	if got, err := cleaner(set, "operator:1"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if folders := hostFolders(set.Spec.Template.Spec); !slices.Equal(folders, []string{"/var/lib/agent"}) {
		t.Errorf("%v", folders)
	}
}
