package packaging

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/release"
	"github.com/cluster-network-operator/cno/internal/release/chart"
	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

func TestMain(m *testing.M) { apitest.Main(m, apitest.Options{WithoutProjectCRDs: true}) }

// set is the images of a release whose digests are all the same character.
func set(version, character string) release.Set {
	digests := map[string]string{}
	for _, name := range []string{"cluster-network-operator", "flannel", "multus"} {
		digests[name] = "sha256:" + strings.Repeat(character, 64)
	}
	return release.Set{Prefix: "registry.example/cno", Version: version, Digests: digests}
}

func files(t *testing.T, name string, images release.Set) map[string][]byte {
	t.Helper()
	out, err := chart.Files(name, images)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func load(t *testing.T, name string, images release.Set) *chartv2.Chart {
	t.Helper()
	return loadFiles(t, files(t, name, images))
}

func loadFiles(t *testing.T, files map[string][]byte) *chartv2.Chart {
	t.Helper()
	var buffered []*archive.BufferedFile
	for file, content := range files {
		buffered = append(buffered, &archive.BufferedFile{Name: file, Data: content})
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func configuration(t *testing.T, server *apitest.Server) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &server.Kubeconfig
	namespace := "kube-system"
	flags.Namespace = &namespace
	config := action.NewConfiguration()
	if err := config.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestChartsAreLinted(t *testing.T) {
	for _, name := range chart.Names() {
		dir := filepath.Join(t.TempDir(), name)
		for file, content := range files(t, name, set("v1.0.0", "a")) {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		lint := action.NewLint()
		lint.Strict = true
		for _, message := range lint.Run([]string{dir}, nil).Messages {
			// An icon is for catalogues.
			if !strings.Contains(message.Error(), "icon is recommended") {
				t.Errorf("%s: %s", name, message.Error())
			}
		}
	}
}

// values of a release on one control-plane node with overrides.
func overrides() map[string]any {
	return map[string]any{
		"images": map[string]any{"mirror": "mirror.example:5000", "pullSecrets": []any{map[string]any{"name": "pull"}}},
		"operator": map[string]any{
			"replicas": 1, "resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}},
			"tolerations": []any{map[string]any{"operator": "Exists"}}, "extraEnv": []any{map[string]any{"name": "APISERVER_OVERRIDE_HOST", "value": "api.example"}},
		},
	}
}

func TestValuesThatTheSchemaDoesNotHaveAreRefused(t *testing.T) {
	config := configuration(t, apitest.Shared(t))
	for name, values := range map[string]map[string]any{
		chart.Operator: {"operator": map[string]any{"replica": 1}},
		chart.Network:  {"spec": map[string]any{"defaultNetwrk": map[string]any{"type": "Flannel"}}},
	} {
		install := action.NewInstall(config)
		install.ReleaseName, install.Namespace, install.DryRunStrategy, install.WaitStrategy = "bad", "kube-system", action.DryRunClient, kube.HookOnlyStrategy
		if _, err := install.Run(load(t, name, set("v1.0.0", "a")), values); err == nil || !strings.Contains(err.Error(), "additional") && !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInstallUpgradeRollBackAndRemove does with Helm's library what helm does, on a real API server.
func TestInstallUpgradeRollBackAndRemove(t *testing.T) {
	server := apitest.Shared(t)
	config := configuration(t, server)
	deployment := func() (*appsv1.Deployment, corev1.Container) {
		t.Helper()
		var d appsv1.Deployment
		if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-network-operator", Name: "network-operator"}, &d); err != nil {
			t.Fatal(err)
		}
		return &d, d.Spec.Template.Spec.Containers[0]
	}
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "cno", "kube-system", kube.HookOnlyStrategy
	if _, err := install.Run(load(t, chart.Operator, set("v1.0.0", "a")), nil); err != nil {
		t.Fatal(err)
	}
	d, c := deployment()
	if want := "registry.example/cno/cluster-network-operator@sha256:" + strings.Repeat("a", 64); c.Image != want || *d.Spec.Replicas != 2 {
		t.Errorf("the operator runs %s with %d replicas", c.Image, *d.Spec.Replicas)
	}
	first := d.Spec.Template.Annotations["checksum/images"]

	upgrade := action.NewUpgrade(config)
	upgrade.Namespace, upgrade.WaitStrategy = "kube-system", kube.HookOnlyStrategy
	if _, err := upgrade.Run("cno", loadFiles(t, withShortName(t, files(t, chart.Operator, set("v1.1.0", "b")))), overrides()); err != nil {
		t.Fatal(err)
	}
	if names := shortNames(t, server); !slices.Contains(names, "netopnext") {
		t.Errorf("the upgrade does not replace the CRD: its short names are %q", names)
	}
	d, c = deployment()
	pod := d.Spec.Template.Spec
	if !strings.HasSuffix(c.Image, strings.Repeat("b", 64)) || *d.Spec.Replicas != 1 || c.Resources.Limits.Memory().String() != "1Gi" || len(pod.Tolerations) != 1 ||
		len(pod.ImagePullSecrets) != 1 || c.Env[len(c.Env)-1].Name != "APISERVER_OVERRIDE_HOST" || c.Env[0].Name != "POD_NAME" {
		t.Errorf("values without effect: %+v", d.Spec)
	}
	if d.Spec.Template.Annotations["checksum/images"] == first {
		t.Error("other images do not replace the pods")
	}
	var images corev1.ConfigMap
	if err := server.Client.Get(t.Context(), client.ObjectKey{Namespace: "openshift-network-operator", Name: "network-operator-images"}, &images); err != nil {
		t.Fatal(err)
	}
	if images.Data["IMAGE_REGISTRY"] != "mirror.example:5000" || images.Data["ETCD_IMAGE"] != "registry.example/cno/etcd:v1.1.0" {
		t.Errorf("images: %v", images.Data)
	}

	network(t, server, config)

	rollback := action.NewRollback(config)
	rollback.Version, rollback.WaitStrategy = 1, kube.HookOnlyStrategy
	if err := rollback.Run("cno"); err != nil {
		t.Fatal(err)
	}
	if names := shortNames(t, server); slices.Contains(names, "netopnext") {
		t.Errorf("the rollback does not replace the CRD: its short names are %q", names)
	}
	if d, c := deployment(); !strings.HasSuffix(c.Image, strings.Repeat("a", 64)) || *d.Spec.Replicas != 2 {
		t.Errorf("after a rollback the operator runs %s with %d replicas", c.Image, *d.Spec.Replicas)
	}
	remove(t, server, config)
}

// withShortName is the chart of a release whose CRD of the Network has another short name.
func withShortName(t *testing.T, files map[string][]byte) map[string][]byte {
	t.Helper()
	before := files["templates/manifests.yaml"]
	after := bytes.Replace(before, []byte("    shortNames:\n    - netop\n"), []byte("    shortNames:\n    - netop\n    - netopnext\n"), 1)
	if bytes.Equal(before, after) {
		t.Fatal("the CRD is not changed")
	}
	files["templates/manifests.yaml"] = after
	return files
}

// shortNames returns those of the Network's CRD.
func shortNames(t *testing.T, server *apitest.Server) []string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: "networks.operator.openshift.io"}, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Names.ShortNames
}

// network installs the other chart, with an override of a workload.
func network(t *testing.T, server *apitest.Server, config *action.Configuration) {
	t.Helper()
	install := action.NewInstall(config)
	install.ReleaseName, install.Namespace, install.WaitStrategy = "network", "kube-system", kube.HookOnlyStrategy
	values := map[string]any{"spec": map[string]any{"workloads": []any{map[string]any{"name": "flanneld", "resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}}}}}}
	if _, err := install.Run(load(t, chart.Network, set("v1.0.0", "a")), values); err != nil {
		t.Fatal(err)
	}
	var n operatorv1.Network
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, &n); err != nil {
		t.Fatal(err)
	}
	if n.Spec.DefaultNetwork.Type != operatorv1.NetworkTypeFlannel || len(n.Spec.Workloads) != 1 || n.Spec.Workloads[0].Resources.Limits.Memory().String() != "1Gi" {
		t.Errorf("the Network is %+v", n.Spec)
	}
	uninstall := action.NewUninstall(config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	if _, err := uninstall.Run("network"); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: operatorv1.NetworkName}, &n); err != nil {
		t.Errorf("the Network does not stay: %v", err)
	}
}

// remove removes the release, which is refused while the Network exists. CRDs stay, with what is of their kinds.
func remove(t *testing.T, server *apitest.Server, config *action.Configuration) {
	t.Helper()
	key := client.ObjectKey{Namespace: "openshift-network-operator", Name: "network-operator"}
	var d appsv1.Deployment
	// The API server needs a moment until it has read the policy and the Network; the dry run of the hook's ConfigMap shows when.
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "dry-run", Namespace: "kube-system", Labels: map[string]string{"networkoperator.openshift.io/helm-uninstall": "true"},
	}}
	refused := func(ctx context.Context) error {
		return server.Client.Create(ctx, marker.DeepCopy(), client.DryRunAll)
	}
	eventually.Holds(t, "the policy refuses the removal", func() (string, bool) {
		err := refused(t.Context())
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "Network/cluster exists")
	})
	uninstall := action.NewUninstall(config)
	uninstall.WaitStrategy, uninstall.Timeout = kube.HookOnlyStrategy, time.Minute
	if _, err := uninstall.Run("cno"); err == nil || !strings.Contains(err.Error(), "Network/cluster exists") || !strings.Contains(err.Error(), "--no-hooks") {
		t.Errorf("with a Network, the release is removed: %v", err)
	}
	if err := server.Client.Get(t.Context(), key, &d); err != nil {
		t.Errorf("a removal that was refused removes the Deployment: %v", err)
	}
	if err := server.Client.Delete(t.Context(), &operatorv1.Network{ObjectMeta: metav1.ObjectMeta{Name: operatorv1.NetworkName}}); err != nil {
		t.Fatal(err)
	}
	eventually.Holds(t, "the policy allows the removal", func() (string, bool) {
		err := refused(t.Context())
		return fmt.Sprint(err), err == nil
	})
	if _, err := uninstall.Run("cno"); err != nil {
		t.Fatal(err)
	}
	if err := server.Client.Get(t.Context(), key, &d); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := server.Client.Get(t.Context(), client.ObjectKey{Name: "networks.operator.openshift.io"}, &crd); err != nil {
		t.Errorf("the CRD does not stay: %v", err)
	}
}
