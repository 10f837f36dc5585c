package kubeproxy

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
)

var update = flag.Bool("update", false, "write the expected outputs anew")

func cluster() facts.Cluster {
	return facts.Cluster{
		APIServer: facts.HostPort{Host: "192.0.2.10", Port: 6443},
		Images:    facts.Images{ImageVariable: "registry.example.com/kube-proxy:v1"},
	}
}

func render(t *testing.T, spec *operatorv1.NetworkSpec, f facts.Cluster) []manifest.Object {
	t.Helper()
	r, err := Component{}.Observe(t.Context(), nil, spec)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Render(spec, f)
	if err != nil {
		t.Fatal(err)
	}
	if out.Waiting != "" || out.Unavailable != "" || out.MTU != 0 {
		t.Errorf("kube-proxy waits for nothing and says nothing of the MTU: %+v", out)
	}
	return out.Objects
}

func TestRenderedObjects(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, in := range inputs {
		t.Run(filepath.Base(in), func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			var spec operatorv1.NetworkSpec
			if err := yaml.UnmarshalStrict(data, &spec); err != nil {
				t.Fatal(err)
			}
			if errs := (Component{}).Validate(&spec, provider.Traits{}); len(errs) > 0 {
				t.Fatal(errs)
			}
			got, err := manifest.Encode(render(t, filledFor(t, &spec, nil), cluster()))
			if err != nil {
				t.Fatal(err)
			}
			out := strings.TrimSuffix(in, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(out, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-) is not what is rendered (+); if the change is meant, run with -update:\n%s", out, diff)
			}
		})
	}
}

func daemonSet(t *testing.T, objects []manifest.Object) *appsv1.DaemonSet {
	t.Helper()
	for _, o := range objects {
		if o.Object.GetKind() == "DaemonSet" {
			var d appsv1.DaemonSet
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, &d); err != nil {
				t.Fatal(err)
			}
			return &d
		}
	}
	t.Fatal("there is no DaemonSet")
	return nil
}

func TestPodsAreReplacedExactlyWhenTheConfigurationChanges(t *testing.T) {
	hash := func(spec *operatorv1.NetworkSpec) string {
		return daemonSet(t, render(t, filledFor(t, spec, nil), cluster())).Spec.Template.Annotations[hashAnnotation]
	}
	one, debug := network(nil), network(nil)
	debug.LogLevel = "Debug"
	unrelated := network(nil)
	unrelated.ServiceNetwork = []string{"172.30.0.0/16"}
	if hash(one) == hash(debug) {
		t.Error("another configuration has the same hash")
	}
	if hash(one) != hash(unrelated) {
		t.Error("the same configuration has another hash")
	}
}

func TestTheConfigurationIsWhatTheTypeReads(t *testing.T) {
	for _, o := range render(t, filledFor(t, network(nil, "fd01::/48"), nil), cluster()) {
		if o.Object.GetKind() != "ConfigMap" {
			continue
		}
		var m corev1.ConfigMap
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, &m); err != nil {
			t.Fatal(err)
		}
		var c kubeproxyv1alpha1.KubeProxyConfiguration
		if err := yaml.UnmarshalStrict([]byte(m.Data[ConfigKey]), &c); err != nil {
			t.Fatal(err)
		}
		got := []string{c.BindAddress, c.HealthzBindAddress, c.MetricsBindAddress, c.ClusterCIDR, string(c.Mode)}
		if diff := cmp.Diff([]string{"::", "[::]:10256", "[::1]:29102", "fd01::/48", "nftables"}, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWithoutAnImageTheErrorNamesTheVariable(t *testing.T) {
	_, err := renderer{}.Render(filledFor(t, network(nil), nil), facts.Cluster{})
	if !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), ImageVariable) {
		t.Errorf("error %v", err)
	}
}

func TestAnUnfilledSpecificationIsAnErrorAndNotAPanic(t *testing.T) {
	if _, err := (renderer{}).Render(&operatorv1.NetworkSpec{}, cluster()); err == nil {
		t.Error("no error")
	}
}

func TestWithoutTheAddressOfTheAPIServerTheServiceIsUsed(t *testing.T) {
	f := cluster()
	f.APIServer = facts.HostPort{}
	for _, c := range daemonSet(t, render(t, filledFor(t, network(nil), nil), f)).Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if strings.HasPrefix(e.Name, "KUBERNETES_") {
				t.Errorf("%s is %q", e.Name, e.Value)
			}
		}
	}
}
