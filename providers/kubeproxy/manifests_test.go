package kubeproxy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeproxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/internal/testing/proxysettings"
	"github.com/cluster-network-operator/cno/internal/tlsprofile"
)

func cluster() facts.Cluster {
	return facts.Cluster{
		APIServer: facts.HostPort{Host: "192.0.2.10", Port: 6443},
		Images:    facts.Images{ImageVariable: "registry.example.com/kube-proxy:v1", facts.OperatorImage: "registry.example.com/cno:v1"},
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
		t.Errorf("kube-proxy waits for nothing and does not set the MTU: %+v", out)
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
			golden.Compare(t, out, got)
		})
	}
}

func daemonSet(t *testing.T, objects []manifest.Object) *appsv1.DaemonSet {
	t.Helper()
	for _, o := range objects {
		if o.Object.GetKind() == "DaemonSet" && o.Object.GetName() == "openshift-kube-proxy" {
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
	one, debug := proxysettings.Network(nil), proxysettings.Network(nil)
	debug.LogLevel = "Debug"
	unrelated := proxysettings.Network(nil)
	unrelated.ServiceNetwork = []string{"172.30.0.0/16"}
	if hash(one) == hash(debug) {
		t.Error("another configuration has the same hash")
	}
	if hash(one) != hash(unrelated) {
		t.Error("the same configuration has another hash")
	}
}

// rendered is the configuration in a key of the ConfigMap.
func rendered(t *testing.T, spec *operatorv1.NetworkSpec, f facts.Cluster, key string) kubeproxyv1alpha1.KubeProxyConfiguration {
	t.Helper()
	for _, o := range render(t, filledFor(t, spec, nil), f) {
		if o.Object.GetKind() != "ConfigMap" {
			continue
		}
		var m corev1.ConfigMap
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, &m); err != nil {
			t.Fatal(err)
		}
		var c kubeproxyv1alpha1.KubeProxyConfiguration
		if err := yaml.UnmarshalStrict([]byte(m.Data[key]), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Fatal("there is no ConfigMap")
	return kubeproxyv1alpha1.KubeProxyConfiguration{}
}

func TestRenderedConfigurationDecodes(t *testing.T) {
	c := rendered(t, proxysettings.Network(nil, "fd01::/48"), cluster(), ConfigKey)
	got := []string{c.BindAddress, c.HealthzBindAddress, c.MetricsBindAddress, c.ClusterCIDR, string(c.Mode)}
	if diff := cmp.Diff([]string{"::", "[::]:10256", "[::1]:29102", "fd01::/48", "nftables"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConntrackIsSizedByKubeProxyUnlessKept(t *testing.T) {
	kept := cluster()
	kept.KeepConntrackMax = true
	number := func(n int32) *int32 { return &n }
	for why, tc := range map[string]struct {
		arguments       []string
		in              facts.Cluster
		perCore, lowest *int32 // nil is kube-proxy's own default
	}{
		"a cluster":                           {nil, cluster(), nil, nil},
		"a cluster with an argument":          {[]string{"conntrack-max-per-core=0"}, cluster(), number(0), nil},
		"network namespaces":                  {nil, kept, number(0), number(0)},
		"network namespaces with an argument": {[]string{"conntrack-max-per-core=65536"}, kept, number(65536), nil},
		"network namespaces with the other":   {[]string{"conntrack-min=65536"}, kept, nil, number(65536)},
	} {
		spec := proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args(tc.arguments...)})
		got := rendered(t, spec, tc.in, ConfigKey).Conntrack
		if diff := cmp.Diff([]*int32{tc.perCore, tc.lowest}, []*int32{got.MaxPerCore, got.Min}); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
	}
}

func TestUnprivilegedContainersDoNotSetConntrack(t *testing.T) {
	spec := proxysettings.Network(&osv1.ProxyConfig{ProxyArguments: proxysettings.Args("conntrack-max-per-core=65536", "conntrack-tcp-be-liberal=true", "conntrack-udp-timeout=9s")})
	all, running := rendered(t, spec, cluster(), ConfigKey), rendered(t, spec, cluster(), UnprivilegedConfigKey)
	want := kubeproxyv1alpha1.KubeProxyConntrackConfiguration{
		MaxPerCore: new(int32), Min: new(int32), TCPEstablishedTimeout: new(metav1.Duration), TCPCloseWaitTimeout: new(metav1.Duration),
	}
	if diff := cmp.Diff(want, running.Conntrack); diff != "" {
		t.Error(diff)
	}
	running.Conntrack = all.Conntrack
	if diff := cmp.Diff(all, running); diff != "" {
		t.Errorf("another setting differs: %s", diff)
	}
	pod := daemonSet(t, render(t, filledFor(t, spec, nil), cluster())).Spec.Template.Spec
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		privileged := c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if reads := slices.Contains(c.Args, "--config=/config/"+ConfigKey); reads != privileged {
			t.Errorf("container %s, privileged %v, reads the whole configuration: %v", c.Name, privileged, reads)
		}
	}
}

func TestWithoutAnImageTheErrorNamesTheVariable(t *testing.T) {
	_, err := renderer{}.Render(filledFor(t, proxysettings.Network(nil), nil), facts.Cluster{})
	if !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), ImageVariable) {
		t.Errorf("error %v", err)
	}
}

func TestAnUnfilledSpecificationIsAnErrorAndNotAPanic(t *testing.T) {
	if _, err := (renderer{}).Render(&operatorv1.NetworkSpec{}, cluster()); err == nil {
		t.Error("no error")
	}
}

func TestServiceIsUsedWithoutAnAPIServerAddress(t *testing.T) {
	f := cluster()
	f.APIServer = facts.HostPort{}
	for _, c := range daemonSet(t, render(t, filledFor(t, proxysettings.Network(nil), nil), f)).Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			if strings.HasPrefix(e.Name, "KUBERNETES_") {
				t.Errorf("%s is %q", e.Name, e.Value)
			}
		}
	}
}

// Every start of kube-proxy removes the rules of other modes: the check of the kernel is what runs before the first one.
func TestKernelIsCheckedFirst(t *testing.T) {
	v4, v6 := []string{"10.128.0.0/14"}, []string{"fd00:128::/48"}
	for _, tc := range []struct {
		name      string
		pools     []string
		arguments map[string]osv1.ProxyArgumentList
		want      []string
		why       string
	}{
		{"nftables", v4, nil, []string{"--mode=nftables", "--ipv4", "--minimum-kernel=5.13"}, "kube-proxy refuses older kernels after its cleanup"},
		{"iptables, IPv6", v6, map[string]osv1.ProxyArgumentList{"proxy-mode": {"iptables"}}, []string{"--mode=iptables", "--ipv6"}, "the family is that of the pools"},
		{"ipvs, both families", slices.Concat(v6, v4), map[string]osv1.ProxyArgumentList{"proxy-mode": {"ipvs"}}, []string{"--mode=ipvs", "--ipv6", "--ipv4"}, "both families have rules"},
		{"ipvs with a scheduler", v4, map[string]osv1.ProxyArgumentList{"proxy-mode": {"ipvs"}, "ipvs-scheduler": {"lc"}},
			[]string{"--mode=ipvs", "--ipv4", "--ipvs-scheduler=lc"}, "each scheduler is a module"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := &operatorv1.NetworkSpec{}
			for _, cidr := range tc.pools {
				spec.ClusterNetwork = append(spec.ClusterNetwork, operatorv1.ClusterNetworkEntry{CIDR: cidr})
			}
			spec.KubeProxyConfig = &osv1.ProxyConfig{ProxyArguments: tc.arguments}
			containers := daemonSet(t, render(t, filledFor(t, spec, nil), cluster())).Spec.Template.Spec.InitContainers
			check := containers[0]
			if want := append([]string{"check-proxy-mode", "--node=$(NODE_NAME)"}, tc.want...); !slices.Equal(check.Args, want) || check.Image != "registry.example.com/cno:v1" {
				t.Errorf("%s: the first container is %s with %v, want %v", tc.why, check.Image, check.Args, want)
			}
			if check.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
				t.Error("the message of the check does not reach the status of the pod")
			}
		})
	}
}

// TestMetricsAreServedByPodsOfTheirOwn: where proxies read, how they follow the TLS profile, and that kube-proxy's pods do not depend on it.
func TestMetricsAreServedByPodsOfTheirOwn(t *testing.T) {
	metrics := func(f facts.Cluster, pools ...string) (proxies *appsv1.DaemonSet, objects []manifest.Object) {
		objects = render(t, filledFor(t, proxysettings.Network(nil, pools...), nil), f)
		for _, o := range objects {
			if o.Object.GetName() == metricsName && o.Object.GetKind() == "DaemonSet" {
				proxies = new(appsv1.DaemonSet)
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, proxies); err != nil {
					t.Fatal(err)
				}
				if !o.Policy.NonCritical {
					t.Error("the network waits for the proxies of metrics")
				}
			}
		}
		if proxies == nil {
			t.Fatal("there is no DaemonSet of proxies")
		}
		return proxies, objects
	}
	modern := cluster()
	modern.TLS = tlsprofile.Resolve(&configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, "")
	before, objects := metrics(cluster())
	after, changed := metrics(modern)
	six, _ := metrics(cluster(), "fd01::/48")
	for _, row := range []struct {
		why string
		of  *appsv1.DaemonSet
		arg string
	}{
		{"of IPv4", before, "--endpoint=:9102=http://127.0.0.1:29102/metrics"},
		{"of IPv6", six, "--endpoint=:9102=http://[::1]:29102/metrics"},
		{"with a TLS profile", after, "--tls-min-version=VersionTLS13"},
	} {
		if c := row.of.Spec.Template.Spec.Containers[0]; !slices.Contains(c.Args, row.arg) || c.Image != "registry.example.com/cno:v1" {
			t.Errorf("%s: %s with %v, want %s", row.why, c.Image, c.Args, row.arg)
		}
	}
	if diff := cmp.Diff(daemonSet(t, objects), daemonSet(t, changed)); diff != "" {
		t.Errorf("kube-proxy restarts for another TLS profile: %s", diff)
	}
}
