package diagnostics

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	operatorcontrolplanev1alpha1 "github.com/openshift/api/operatorcontrolplane/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

// api is a reader of a cluster that serves some kinds and has at most one object.
type api struct {
	client.Reader
	kinds  []schema.GroupVersionKind
	config *configv1.Network
	err    error
}

func (a api) RESTMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{kindCheck.GroupVersion(), kindConfig.GroupVersion()})
	for _, k := range a.kinds {
		m.Add(k, meta.RESTScopeRoot)
	}
	return m
}

func (a api) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if a.err != nil {
		return a.err
	}
	if a.config == nil || key.Name != "cluster" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "networks"}, key.Name)
	}
	a.config.DeepCopyInto(into.(*configv1.Network))
	return nil
}

var (
	kindCheck  = operatorcontrolplanev1alpha1.GroupVersion.WithKind("PodNetworkConnectivityCheck")
	kindConfig = configv1.GroupVersion.WithKind("Network")
)

func cluster(nodes int) facts.Cluster {
	return facts.Cluster{NodeCount: nodes, Images: facts.Images{OwnImageVariable: "registry.example.com/cno:v1"}}
}

func render(t *testing.T, r client.Reader, spec *operatorv1.NetworkSpec, f facts.Cluster) provider.Output {
	t.Helper()
	renderer, err := Component{}.Observe(t.Context(), r, spec)
	if err != nil {
		t.Fatal(err)
	}
	out, err := renderer.Render(spec, f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRenderedObjects(t *testing.T) {
	const file = "testdata/default.out.yaml"
	out := render(t, nil, &operatorv1.NetworkSpec{}, cluster(3))
	got, err := manifest.Encode(out.Objects)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, file, got)
	for _, o := range out.Objects {
		if !o.Policy.NonCritical {
			t.Errorf("something waits for %s", o.Key())
		}
	}
}

func TestChecksFollowTheNetworkDiagnosticsConfiguration(t *testing.T) {
	withDiagnostics := func(d configv1.NetworkDiagnostics) api {
		return api{kinds: []schema.GroupVersionKind{kindCheck, kindConfig}, config: &configv1.Network{Spec: configv1.NetworkSpec{NetworkDiagnostics: d}}}
	}
	placed := configv1.NetworkDiagnostics{
		SourcePlacement: configv1.NetworkDiagnosticsSourcePlacement{NodeSelector: map[string]string{"infra": ""}, Tolerations: []corev1.Toleration{{Key: "s"}}},
		TargetPlacement: configv1.NetworkDiagnosticsTargetPlacement{NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "t"}}},
	}
	for _, tc := range []struct {
		why      string
		from     client.Reader
		disabled bool
		want     bool
	}{
		{"no cluster", nil, false, true},
		{"no cluster, and turned off", nil, true, false},
		{"plain Kubernetes", api{kinds: []schema.GroupVersionKind{kindCheck}}, false, true},
		{"plain Kubernetes, and turned off", api{kinds: []schema.GroupVersionKind{kindCheck}}, true, false},
		{"the API is available and the object missing", api{kinds: []schema.GroupVersionKind{kindCheck, kindConfig}}, false, true},
		{"OpenShift without a mode", withDiagnostics(configv1.NetworkDiagnostics{}), true, false},
		{"OpenShift enables it", withDiagnostics(configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsAll}), true, true},
		{"OpenShift disables it", withDiagnostics(configv1.NetworkDiagnostics{Mode: configv1.NetworkDiagnosticsDisabled}), false, false},
		{"OpenShift sets the placement", withDiagnostics(placed), true, true},
	} {
		out := render(t, tc.from, &operatorv1.NetworkSpec{DisableNetworkDiagnostics: tc.disabled}, cluster(3))
		if got := len(out.Objects) > 0; got != tc.want || out.Unavailable != "" {
			t.Errorf("%s: %d objects, %q", tc.why, len(out.Objects), out.Unavailable)
		}
	}
	out := render(t, withDiagnostics(placed), &operatorv1.NetworkSpec{}, cluster(3))
	source, target := find[appsv1.Deployment](t, out, "Deployment").Spec.Template.Spec, find[appsv1.DaemonSet](t, out, "DaemonSet").Spec.Template.Spec
	got := []any{source.NodeSelector, source.Tolerations, target.NodeSelector, target.Tolerations}
	want := []any{placed.SourcePlacement.NodeSelector, placed.SourcePlacement.Tolerations, placed.TargetPlacement.NodeSelector, placed.TargetPlacement.Tolerations}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func find[T any](t *testing.T, out provider.Output, kind string) *T {
	t.Helper()
	for _, o := range out.Objects {
		if o.Object.GetKind() == kind {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, into); err != nil {
				t.Fatal(err)
			}
			return into
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

func TestSourcesGrowSlowlyWithTheCluster(t *testing.T) {
	for nodes, want := range map[int]int32{0: 1, 1: 1, 2: 2, 3: 3, 500: 3, 750: 3, 751: 4, 5000: 20} {
		if got := *find[appsv1.Deployment](t, render(t, nil, &operatorv1.NetworkSpec{}, cluster(nodes)), "Deployment").Spec.Replicas; got != want {
			t.Errorf("%d nodes have %d sources, want %d", nodes, got, want)
		}
	}
}

func TestWithoutTheCRDNothingIsDeployedAndAConditionIsSet(t *testing.T) {
	out := render(t, api{}, &operatorv1.NetworkSpec{}, cluster(3))
	if len(out.Objects) > 0 || !strings.Contains(out.Unavailable, "PodNetworkConnectivityCheck") {
		t.Errorf("%+v", out)
	}
}

func TestReadFailureIsAnError(t *testing.T) {
	broken := api{kinds: []schema.GroupVersionKind{kindCheck, kindConfig}, err: errors.New("timeout")}
	if _, err := (Component{}).Observe(t.Context(), broken, &operatorv1.NetworkSpec{}); err == nil {
		t.Error("no error")
	}
}

func TestDedicatedImagesTakePrecedence(t *testing.T) {
	f := cluster(3)
	f.Images[SourceImageVariable], f.Images[TargetImageVariable] = "source:v1", "target:v1"
	out := render(t, nil, &operatorv1.NetworkSpec{}, f)
	got := []string{find[appsv1.Deployment](t, out, "Deployment").Spec.Template.Spec.Containers[0].Image, find[appsv1.DaemonSet](t, out, "DaemonSet").Spec.Template.Spec.Containers[0].Image}
	if diff := cmp.Diff([]string{"source:v1", "target:v1"}, got); diff != "" {
		t.Error(diff)
	}
	renderer, _ := Component{}.Observe(t.Context(), nil, &operatorv1.NetworkSpec{})
	if _, err := renderer.Render(nil, facts.Cluster{}); !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), SourceImageVariable) {
		t.Errorf("error %v", err)
	}
}

func TestNoDefaultsAndNoRefusals(t *testing.T) {
	on, off := &operatorv1.NetworkSpec{}, &operatorv1.NetworkSpec{DisableNetworkDiagnostics: true}
	c := Component{}
	if errs := append(c.Validate(off, provider.Traits{}), c.CheckChange(on, off)...); len(errs) > 0 {
		t.Error(errs)
	}
	if diff := cmp.Diff(off, c.Default(off, nil, provider.Traits{}, facts.Cluster{})); diff != "" || !c.Enabled(off) {
		t.Error(diff)
	}
}

// TestSourcesFollowTheTLSProfile: targets serve no TLS, and are not replaced.
func TestSourcesFollowTheTLSProfile(t *testing.T) {
	args := func(profile *configv1.TLSSecurityProfile) (all [][]string) {
		f := cluster(3)
		f.TLS = tlsprofile.Resolve(profile, "")
		for _, o := range render(t, nil, &operatorv1.NetworkSpec{}, f).Objects {
			if kind := o.Object.GetKind(); kind != "Deployment" && kind != "DaemonSet" {
				continue
			}
			var d appsv1.Deployment // of what both have
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": map[string]any{"template": o.Object.Object["spec"].(map[string]any)["template"]}}, &d); err != nil {
				t.Fatal(err)
			}
			all = append(all, d.Spec.Template.Spec.Containers[0].Args)
		}
		return all
	}
	for _, row := range []struct {
		why     string
		profile *configv1.TLSSecurityProfile
		want    [][]string
	}{
		{"the programs' own defaults", nil, [][]string{{"check-target"}, {"check-endpoints"}}},
		{"Modern", &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, [][]string{{"check-target"}, {"check-endpoints", "--tls-min-version=VersionTLS13"}}},
		{"Custom", &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
			MinTLSVersion: configv1.VersionTLS12, Ciphers: []string{"ECDHE-RSA-AES128-GCM-SHA256"}}}},
			[][]string{{"check-target"}, {"check-endpoints", "--tls-min-version=VersionTLS12", "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}},
	} {
		if diff := cmp.Diff(row.want, args(row.profile)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.why, diff)
		}
	}
}
