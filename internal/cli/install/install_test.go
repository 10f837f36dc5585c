package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	networkoperatorv1 "github.com/cluster-network-operator/cno/api/networkoperator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/cli/exit"
	built "github.com/cluster-network-operator/cno/internal/image"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/preview"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/status"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/version"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{WithoutProjectCRDs: true}) }

// call runs a command against a cluster, and returns what it prints and its exit status.
func call(t *testing.T, file string, cmd *cobra.Command, args ...string) (string, int) {
	t.Helper()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--kubeconfig", file))
	status := exit.Report(&out, "cno", cmd.ExecuteContext(t.Context()))
	return out.String(), status
}

func key() client.ObjectKey {
	return client.ObjectKey{Namespace: status.OperatorNamespace, Name: status.OperatorDeployment}
}

func operator(t *testing.T, server *apitest.Server) *appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	if err := server.Client.Get(t.Context(), key(), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// annotate sets the version that the installed operator names.
func annotate(t *testing.T, server *apitest.Server, value string) {
	t.Helper()
	d := operator(t, server)
	d.Annotations[manifest.AnnotationVersion] = value
	if err := server.Client.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

func agent(namespace, name string) *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent:1"}}}},
	}}
}

// run acts as the controllers of a cluster: it reports the Deployment's pods as ready.
func run(ctx context.Context, t *testing.T, server *apitest.Server) {
	t.Helper()
	eventually.Holds(t, "the Deployment has a status", func() (string, bool) {
		var d appsv1.Deployment
		if err := server.Client.Get(ctx, key(), &d); err != nil {
			return err.Error(), false
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas, ReadyReplicas: *d.Spec.Replicas, AvailableReplicas: *d.Spec.Replicas}
		if err := server.Client.Status().Update(ctx, &d); err != nil {
			return err.Error(), false
		}
		return "", true
	})
}

// TestInstallUpgradeAndRollback follows a cluster from its first installation.
func TestInstallUpgradeAndRollback(t *testing.T) {
	server := apitest.Shared(t)
	file := server.Kubeconfig
	if out, status := call(t, file, NewUpgrade()); status != exit.Refused || !strings.Contains(out, "to install it: cno install") {
		t.Errorf("an upgrade without an operator: %d %s", status, out)
	}
	refusals(t, server)

	server.Create(t, agent("kube-system", "kube-proxy"))
	go run(t.Context(), t, server)
	out, status := call(t, file, New(), "--images", "registry.example/cno", "--wait")
	if status != exit.OK {
		t.Fatalf("%d %s", status, out)
	}
	for _, want := range []string{
		"] CustomResourceDefinition networks.operator.openshift.io\n", "The operator " + version.String() + " is installed and runs.\n",
		"Note: DaemonSet kube-system/kube-proxy is another kube-proxy.", "Next: write a Network", "Platform: kubeadm.\n",
		"Note: If a Network omits spec.serviceNetwork, it is 10.96.0.0/16, from ServiceCIDR kubernetes.\n",
		"Note: In a Network, spec.clusterNetwork is required: the cluster does not declare it. The operator has looked for ConfigMap kube-system/kubeadm-config",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	d := operator(t, server)
	if got := d.Spec.Template.Spec.Containers[0].Image; got != "registry.example/cno/cluster-network-operator:"+version.String() || *d.Spec.Replicas != 1 {
		t.Errorf("the operator runs %s with %d replicas", got, *d.Spec.Replicas)
	}
	if out, status := call(t, file, New(), "--images", "registry.example/cno"); status != exit.OK {
		t.Errorf("a second installation of the same version: %d %s", status, out)
	}
	if operator(t, server).Generation != d.Generation {
		t.Error("a second installation of the same version changes the Deployment")
	}

	out, status = call(t, file, NewUpgrade(), "--plan", "--images", "registry.example/cno")
	if status != exit.OK || strings.Contains(out, "  change ") || strings.Contains(out, "  create ") {
		t.Errorf("a plan for the same version names changes: %d\n%s", status, out)
	}
	annotate(t, server, "v0.0.9")
	if out, status := call(t, file, New()); status != exit.Refused || !strings.Contains(out, "as version v0.0.9; to replace it by "+version.String()+": cno upgrade") {
		t.Errorf("an installation over another version: %d %s", status, out)
	}
	out, status = call(t, file, NewUpgrade(), "--plan", "--images", "other.example/cno")
	for _, want := range []string{"from v0.0.9 to " + version.String(), "  create ConfigMap openshift-network-operator/network-operator-images-", "  change Deployment openshift-network-operator/network-operator\n"} {
		if status != exit.OK || !strings.Contains(out, want) {
			t.Errorf("%d, %q is not in the plan:\n%s", status, want, out)
		}
	}
	if operator(t, server).Annotations[manifest.AnnotationVersion] != "v0.0.9" {
		t.Error("a plan changes the Deployment")
	}
	if out, status := call(t, file, NewUpgrade(), "--images", "other.example/cno"); status != exit.OK || !strings.Contains(out, "The operator "+version.String()+" is installed.") {
		t.Errorf("an upgrade: %d %s", status, out)
	}
	if got := operator(t, server).Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(got, "other.example/") {
		t.Errorf("after the upgrade the operator runs %s", got)
	}
	obsoleteObjects(t, server)
	annotate(t, server, "v0.2.0")
	if out, status := call(t, file, NewUpgrade()); status != exit.Refused || !strings.Contains(out, "--downgrade") {
		t.Errorf("an older version without the flag: %d %s", status, out)
	}
	if out, status := call(t, file, NewUpgrade(), "--downgrade"); status != exit.OK {
		t.Errorf("an older version with the flag: %d %s", status, out)
	}
}

// obsoleteObjects upgrades a cluster that has objects of the previous release: the ConfigMap of its images, and those that this release
// does not have.
func obsoleteObjects(t *testing.T, server *apitest.Server) {
	t.Helper()
	file := server.Kubeconfig
	pairs, err := release.Labels()
	if err != nil {
		t.Fatal(err)
	}
	namespaced := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: status.OperatorNamespace, Name: name, Labels: pairs}
	}
	own, foreign := client.FieldOwner(preview.FieldManager), client.FieldOwner("kubectl-client-side-apply")
	rows := []struct {
		why     string
		object  client.Object
		owner   client.FieldOwner
		deleted bool
	}{
		{"a role of the previous release", &rbacv1.ClusterRole{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: "cluster-network-operator-previous", Labels: pairs}}, own, true},
		{"a user's copy with the label", &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: namespaced("copy")}, foreign, false},
		{"without the label", &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: status.OperatorNamespace, Name: "unlabelled"}}, own, false},
		{"a namespace, which may hold objects of users", &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "openshift-previous", Labels: pairs}}, own, false},
		{"a CRD, with which its objects would be deleted", previousCRD(pairs), own, false},
	}
	for _, row := range rows {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.object)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content}), row.owner); err != nil {
			t.Fatalf("%s: %v", row.why, err)
		}
	}
	protect(t, server)

	images := func() []string {
		var list corev1.ConfigMapList
		if err := server.Client.List(t.Context(), &list, client.InNamespace(status.OperatorNamespace)); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, cm := range list.Items {
			if strings.HasPrefix(cm.Name, imageConfig) {
				out = append(out, cm.Name)
			}
		}
		return out
	}
	if got := images(); len(got) != 2 {
		t.Errorf("before the deletion there are the ConfigMaps %q, want those of two releases", got)
	}
	out, code := call(t, file, NewUpgrade(), "--images", "other.example/cno")
	if code != exit.OK || !strings.Contains(out, "are kept, because its pods may still use them: ConfigMap "+status.OperatorNamespace+"/"+imageConfig) || len(images()) != 2 {
		t.Errorf("an upgrade that does not wait for the new pods: %d %s", code, out)
	}
	deletions := []string{"delete ConfigMap " + status.OperatorNamespace + "/" + imageConfig, "delete ClusterRole cluster-network-operator-previous\n"}
	out, code = call(t, file, NewUpgrade(), "--plan", "--images", "other.example/cno")
	for _, want := range deletions {
		if code != exit.OK || !strings.Contains(out, "  "+want) || strings.Count(out, "  delete ") != len(deletions) {
			t.Errorf("%d, %q is not in the plan:\n%s", code, want, out)
		}
	}
	go run(t.Context(), t, server)
	out, code = call(t, file, NewUpgrade(), "--images", "other.example/cno", "--wait")
	for _, want := range deletions {
		if code != exit.OK || !strings.Contains(out, want) {
			t.Errorf("%d, %q is not printed:\n%s", code, want, out)
		}
	}
	if got := images(); len(got) != 1 {
		t.Errorf("after the deletion there are the ConfigMaps %q", got)
	}
	for _, row := range rows {
		err := server.Client.Get(t.Context(), client.ObjectKeyFromObject(row.object), row.object)
		if client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) != row.deleted {
			t.Errorf("%s: deleted must be %t: %v", row.why, row.deleted, err)
		}
	}
}

func previousCRD(pairs map[string]string) *apiextensionsv1.CustomResourceDefinition {
	object := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "previous.networkoperator.openshift.io", Labels: pairs},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "networkoperator.openshift.io", Scope: apiextensionsv1.ClusterScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "previous", Kind: "Previous"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: object}}},
		},
	}
}

// protect makes the policies protect the installation, as with a network in use, until the test ends.
func protect(t *testing.T, server *apitest.Server) {
	t.Helper()
	server.Create(t, &networkoperatorv1.NetworkGuard{ObjectMeta: metav1.ObjectMeta{Name: networkoperatorv1.NetworkGuardName}, Data: map[string]string{"spec.defaultNetwork.type": "Flannel"}})
	eventually.Holds(t, "the policies refuse deletions", func() (string, bool) {
		err := server.Client.Delete(t.Context(), operator(t, server), client.DryRunAll)
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "deletion-in-use")
	})
}

// controller is a Deployment of a third party.
func controller(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"name": "other"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "other", Image: "quay.io/other:4"}}}},
	}}
}

// refusals are the clusters that are refused. Each is cleaned up again.
func refusals(t *testing.T, server *apitest.Server) {
	t.Helper()
	file := server.Kubeconfig
	// It stays until the server ends: there is no controller that ends namespaces.
	if err := server.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: status.OperatorNamespace}}); err != nil {
		t.Fatal(err)
	}
	server.Create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "cp-0", Labels: map[string]string{controlPlane: ""}, Annotations: map[string]string{"kubeadm.alpha.kubernetes.io/cri-socket": "unix:///run/containerd/containerd.sock"},
	}})

	for name, other := range map[string]client.Object{
		"Calico (DaemonSet kube-system/calico-node)":                                               agent("kube-system", "calico-node"),
		"Cilium (DaemonSet kube-system/cilium)":                                                    agent("kube-system", "cilium"),
		"Calico (Deployment kube-system/tigera-operator)":                                          controller("kube-system", "tigera-operator"),
		"Calico (Deployment kube-system/calico-kube-controllers)":                                  controller("kube-system", "calico-kube-controllers"),
		"Cilium (Deployment kube-system/cilium-operator)":                                          controller("kube-system", "cilium-operator"),
		"Antrea (Deployment kube-system/antrea-controller)":                                        controller("kube-system", "antrea-controller"),
		"Kube-OVN (Deployment kube-system/kube-ovn-controller)":                                    controller("kube-system", "kube-ovn-controller"),
		"cluster-network-addons-operator (Deployment kube-system/cluster-network-addons-operator)": controller("kube-system", "cluster-network-addons-operator"),
	} {
		if err := server.Client.Create(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		out, status := call(t, file, New())
		if status != exit.Refused || !strings.Contains(out, "the cluster has another network: "+name+";") {
			t.Errorf("%s: %d %s", name, status, out)
		}
		if err := server.Client.Delete(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}

	var node corev1.Node
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: "cp-0"}, &node); err != nil {
		t.Fatal(err)
	}
	ready := func(status corev1.ConditionStatus) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
		if err := server.Client.Status().Update(t.Context(), &node); err != nil {
			t.Fatal(err)
		}
	}
	ready(corev1.ConditionTrue)
	if out, status := call(t, file, New()); status != exit.Refused || !strings.Contains(out, "nodes are Ready (1) although the operator is not installed") {
		t.Errorf("nodes with a network: %d %s", status, out)
	}
	ready(corev1.ConditionFalse)

	foreign := controller(status.OperatorNamespace, status.OperatorDeployment)
	if err := server.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*cobra.Command{New(), NewUpgrade()} {
		if out, status := call(t, file, cmd); status != exit.Refused || !strings.Contains(out, "another network operator: Deployment openshift-network-operator/network-operator runs quay.io/other:4") {
			t.Errorf("another operator: %d %s", status, out)
		}
	}
	if err := server.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}

	if out, status := call(t, userFile(t, server), New()); status != exit.Refused || !strings.Contains(out, "may not install an operator") {
		t.Errorf("a user without permissions: %d %s", status, out)
	}
	if out, status := call(t, file, New(), "--images", "https://registry.example/"); status != exit.Unusable || !strings.Contains(out, "--images") {
		t.Errorf("a prefix that is none: %d %s", status, out)
	}
	if out, status := call(t, t.TempDir()+"/none", New()); status != exit.Unusable || !strings.Contains(out, "kubeconfig") {
		t.Errorf("no cluster: %d %s", status, out)
	}
}

// userFile is the kubeconfig of a user without permissions.
func userFile(t *testing.T, server *apitest.Server) string {
	t.Helper()
	return writeKubeconfig(t, server.User(t, "without-permissions"))
}

func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	file := t.TempDir() + "/kubeconfig"
	content := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
	if err := clientcmd.WriteToFile(content, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTimeoutNamesTheCause waits for an operator whose image cannot be pulled.
func TestTimeoutNamesTheCause(t *testing.T) {
	pod := corev1.Pod{Status: corev1.PodStatus{
		Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}}},
	}}
	for _, row := range []struct {
		why  string
		pod  corev1.Pod
		want string
	}{
		{"an image that cannot be pulled", pod, "ErrImagePull: not found"},
		{"no node for it", corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}}}, "0/1 nodes are available"},
		{"it starts", corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}}}, ""},
	} {
		if got := causeOf(row.pod); got != row.want {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
		}
	}
}

func TestImagesAreListedForAMirror(t *testing.T) {
	var out strings.Builder
	cmd := NewImages()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--images", "registry.example/cno", "-o", "json"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var list []image
	if err := json.Unmarshal([]byte(out.String()), &list); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	var names []string
	for _, i := range list {
		variables[i.Variable] = i.Reference
		names = append(names, i.Name)
	}
	if want := builtImages(t); !slices.Equal(names, want) {
		t.Errorf("the images are %q, want %q, which are built", names, want)
	}
	for variable, name := range map[string]string{"NETWORK_OPERATOR_IMAGE": "cluster-network-operator", "FLANNEL_IMAGE": "flannel", "MULTUS_IMAGE": "multus"} {
		if want := "registry.example/cno/" + name + ":" + version.String(); variables[variable] != want {
			t.Errorf("%s is %q, want %q", variable, variables[variable], want)
		}
	}
}

// builtImages are the names of the images of the tree without those that are only the base of others.
func builtImages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../images/*/image.yaml")
	if err != nil {
		t.Fatal(err)
	}
	bases := map[string]bool{}
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := built.ParseDefinition(data)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name)
		bases[d.Base] = true
	}
	slices.Sort(names)
	return slices.DeleteFunc(names, func(name string) bool { return bases[name] })
}
