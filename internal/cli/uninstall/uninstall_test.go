package uninstall

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/plan"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{}) }

// call runs the command against the test's API server.
func call(t *testing.T, args ...string) (stdout string, status int) {
	t.Helper()
	var out, errOut strings.Builder
	cmd := New(networks.Registry().Operands())
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

func TestDryRunPrintsThePlanAndChangesNothing(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	set := agents(ns)
	server.Create(t, set)
	ours := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ours", Labels: set.Labels}}
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "taken", Labels: set.Labels}}
	server.Create(t, ours)
	server.Create(t, taken)
	out, status := call(t, "--yes", "-n", ns)
	if status != exit.Refused || !strings.Contains(out, "to delete by label: --force") {
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
	if len(res.Stays) != 1 || !strings.Contains(res.Stays[0], "taken: it existed before") {
		t.Errorf("stays: %q", res.Stays)
	}
	if agent, kind := slices.Index(res.Deleted, "DaemonSet "+ns+"/agent"), slices.Index(res.Deleted, "CustomResourceDefinition networks.operator.openshift.io"); agent > kind {
		t.Error("the definitions go before the agents")
	}
	if text, _ := call(t, "-n", ns); !strings.Contains(text, "To uninstall: cno uninstall --yes") {
		t.Errorf("the output does not describe the steps:\n%s", text)
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
	if directories := hostDirectories(set.Spec.Template.Spec); !slices.Equal(directories, []string{"/var/lib/agent"}) {
		t.Errorf("%v", directories)
	}
}

// opened returns a remover of what a namespace records.
func opened(t *testing.T, namespace string) *remover {
	t.Helper()
	cluster, err := preview.Open(apitest.Shared(t).Config, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return &remover{Cluster: cluster, operands: networks.Registry().Operands(), logf: func(string, ...any) {}}
}

// TestNodesThatCannotBeCleanedAreListed: in a namespace that is being deleted no pod can be made any more.
func TestNodesThatCannotBeCleanedAreListed(t *testing.T) {
	server := apitest.Shared(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ending-"}}
	if err := server.Client.Create(t.Context(), ns); err != nil { // neither of them is ever deleted here, since no controller runs
		t.Fatal(err)
	}
	set := agents(ns.Name)
	if err := server.Client.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	r := opened(t, "default")
	o := object{apps("DaemonSet"), set.Namespace, set.Name}
	work, err := cleaner(set, "operator:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.clean(t.Context(), agentSet{object: o, set: set, cleaner: work}); err != nil {
		t.Fatal(err)
	}
	if len(r.stays) != 1 || !strings.Contains(r.stays[0], "what "+o.String()+" created: its namespace was deleted first") || !strings.Contains(r.stays[0], "restart the node") {
		t.Errorf("stays: %q", r.stays)
	}
}

// TestObjectsDeletedBeforeNodesWereCleanedAreListed: the inventory has a DaemonSet that no longer exists.
func TestObjectsDeletedBeforeNodesWereCleanedAreListed(t *testing.T) {
	r := opened(t, "default")
	inventory := plan.Inventory{{Key: manifest.Key{Group: "apps", Kind: "DaemonSet", Namespace: "openshift-flannel", Name: "flanneld"}, Version: "v1"}}
	gone, err := r.lost(t.Context(), inventory, nil)
	if err != nil || len(gone) != 1 {
		t.Fatalf("%v, %v", gone, err)
	}
	if text := r.unclean(gone[0], "it was deleted"); !strings.Contains(text, "/etc/cni/net.d/10-flannel.conflist") || !strings.Contains(text, "restart the node") {
		t.Errorf("got %q", text)
	}
	if found, err := r.lost(t.Context(), inventory, gone); err != nil || len(found) != 0 {
		t.Errorf("one that exists is lost: %v, %v", found, err)
	}
}

// TestPodsWithFurtherNetworksAreDeletedFirst: once the daemons have ended, nothing can detach them.
func TestPodsWithFurtherNetworksAreDeletedFirst(t *testing.T) {
	server := apitest.Shared(t)
	const namespace = "openshift-multus"
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	set := agents(namespace)
	set.Name = "multus"
	ns := server.Namespace(t)
	pod := func(name string, annotations map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Annotations: annotations},
			Spec:       corev1.PodSpec{NodeName: "worker-0", Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
		}
	}
	attached := pod("attached", map[string]string{"k8s.v1.cni.cncf.io/networks": "plant"})
	for _, o := range []client.Object{set, attached, pod("plain", nil)} {
		server.Create(t, o)
		t.Cleanup(func() {
			if err := server.Client.Delete(context.Background(), o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
	want := "pods have networks that only DaemonSet openshift-multus/multus can detach; delete these pods, and wait until they no longer exist: " + ns + "/attached\n"
	if out, status := call(t, "-n", ns, "--force"); status != exit.Refused || !strings.Contains(out, want) {
		t.Errorf("without --yes it ends with %d:\n%s", status, out)
	}
	if out, status := call(t, "-n", ns, "--force", "--yes"); status != exit.Refused || !strings.Contains(out, "nothing was changed: "+want) {
		t.Errorf("it ends with %d:\n%s", status, out)
	}
	if err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil || set.DeletionTimestamp != nil {
		t.Errorf("the daemons: %v", err)
	}
	if err := server.Client.Delete(t.Context(), attached, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if out, _ := call(t, "-n", ns, "--force"); strings.Contains(out, "First:") {
		t.Errorf("after the deletion of the pod:\n%s", out)
	}
}

func TestFailedCleanupIsExplained(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	work, err := cleaner(agents(ns), "operator:1")
	if err != nil {
		t.Fatal(err)
	}
	r := opened(t, ns)
	if text := r.cleanupFailure(t.Context(), work); !strings.HasPrefix(text, "they did not answer within 1m0s; restart") {
		t.Errorf("without pods: %s", text)
	}
	for node, message := range map[string]string{"worker-0": "starting\ncannot delete br0: device is busy\n", "worker-1": ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: node, Labels: work.Spec.Selector.MatchLabels}, Spec: work.Spec.Template.Spec}
		pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds = node, new(int64(0))
		server.Create(t, pod)
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "cleanup", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message}}}}
		if err := server.Client.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if text, want := r.cleanupFailure(t.Context(), work), "the cleanup fails on worker-0: cannot delete br0: device is busy; on worker-1: it ended with status 1; restart these nodes"; !strings.HasPrefix(text, want) {
		t.Errorf("got %s", text)
	}
}

// TestCRDsOfOperandsAreDeletedUnlessUsersHaveObjects: deleting a CRD deletes all objects of its kind.
func TestCRDsOfOperandsAreDeletedUnlessUsersHaveObjects(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	const claims, networks, pools = "ipamclaims.k8s.cni.cncf.io", "network-attachment-definitions.k8s.cni.cncf.io", "ippools.whereabouts.cni.cncf.io"
	for _, c := range apitest.ReadCRDs("providers/multus/assets/definitions") {
		if !slices.Contains([]string{claims, networks, pools}, c.Name) {
			continue
		}
		if c.Name != pools {
			c.Labels = map[string]string{manifest.LabelManagedBy: manifest.ManagedBy}
		}
		server.Create(t, c)
	}
	network := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": `{"cniVersion":"1.0.0","type":"bridge"}`}}}
	network.SetAPIVersion("k8s.cni.cncf.io/v1")
	network.SetKind("NetworkAttachmentDefinition")
	network.SetNamespace(ns)
	network.SetName("plant")
	eventually.Succeeds(t, "the API is served", func() error { return client.IgnoreAlreadyExists(server.Client.Create(t.Context(), network)) })
	var p parts
	if err := opened(t, ns).findOperandCRDs(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	if want := []object{{definition(), "", claims}}; !slices.Equal(p.kinds, want) {
		t.Errorf("deleted are %v, want %v: a CRD of another owner, and one with objects of users, stay", p.kinds, want)
	}
	if len(p.stays) != 1 || !strings.Contains(p.stays[0], networks+": users have objects of the kind ("+ns+"/plant), which the command kubectl delete crd "+networks+" would delete, too") {
		t.Errorf("stays: %q", p.stays)
	}
}

// TestDataOfDeploymentsOnNodesIsListed: nothing empties the directory of an etcd.
func TestDataOfDeploymentsOnNodesIsListed(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	set := agents(ns)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "etcd"}, Spec: appsv1.DeploymentSpec{Selector: set.Spec.Selector, Template: set.Spec.Template}}
	server.Create(t, d)
	r := opened(t, ns)
	if err := r.dataOnNodes(t.Context(), []object{{apps("Deployment"), ns, "etcd"}, {core("ConfigMap"), ns, "other"}}); err != nil {
		t.Fatal(err)
	}
	if len(r.stays) != 1 || !strings.Contains(r.stays[0], "/var/lib/agent") {
		t.Errorf("stays: %q", r.stays)
	}
}

// TestAdoptedInstallationIsDeleted: what installs the operator is deleted also where it existed before the operator applied it.
func TestAdoptedInstallationIsDeleted(t *testing.T) {
	server := apitest.Shared(t)
	ns := server.Namespace(t)
	inventory := plan.Inventory{{Key: manifest.Key{Kind: "Namespace", Name: ns}, Version: "v1", Adopted: true}}
	server.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: plan.InventoryName}, Data: inventory.Data()})
	p, err := opened(t, ns).find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(p.all(), func(o object) bool { return o.name == ns }) || slices.ContainsFunc(p.stays, func(s string) bool { return strings.Contains(s, ns) }) {
		t.Errorf("deleted: %v\nstays: %q", p.all(), p.stays)
	}
}
