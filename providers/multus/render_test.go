package multus

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/providers/multus/agentconfig"
)

// specification is one of a third party's network, changed by a function that may be nil.
func specification(change func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
	spec := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: "Calico"},
	}
	if change != nil {
		change(spec)
	}
	return spec
}

func cluster() facts.Cluster {
	return facts.Cluster{ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443}, Images: facts.Images{ImageVariable: "registry.test/multus:v1", facts.OperatorImage: "registry.test/operator:v1"}}
}

// run runs the whole pipeline, and returns the output of the component; nil if it is not deployed.
func run(t *testing.T, spec *operatorv1.NetworkSpec, reader client.Reader, f facts.Cluster) *provider.Output {
	t.Helper()
	p := pipeline.Pipeline{Registry: pipeline.Registry{Components: []provider.Component{component("cni0")}}}
	res, err := p.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: f, Reader: reader}, pipeline.Render)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Outputs {
		if o.Name == Name {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			return &o.Output
		}
	}
	return nil
}

// some has networks of every kind, and their policies.
func some(s *operatorv1.NetworkSpec) {
	s.UseMultiNetworkPolicy = new(true)
	s.MultiNetwork = &operatorv1.MultiNetworkConfig{
		NamespaceIsolation: new(false), GlobalNamespaces: []string{"shared"}, Attachments: operatorv1.AttachmentsRestricted,
		Restricted: &operatorv1.RestrictedAttachments{Masters: []string{"eth1"}},
	}
	s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{
		{Name: "raw", Namespace: "tenant", Type: osv1.NetworkTypeRaw, RawCNIConfig: " {\"type\":\t\"bridge\", \"isGateway\": 1.0}\n"},
		{Name: "short", Type: osv1.NetworkTypeSimpleMacvlan},
		{Name: "static", Type: osv1.NetworkTypeSimpleMacvlan, SimpleMacvlanConfig: &osv1.SimpleMacvlanConfig{
			Master: "eth1", Mode: osv1.MacvlanModePrivate, MTU: 1400, IPAMConfig: &osv1.IPAMConfig{Type: osv1.IPAMTypeStatic, StaticIPAMConfig: &osv1.StaticIPAMConfig{
				Addresses: []osv1.StaticIPAMAddresses{{Address: "192.0.2.5/24", Gateway: "192.0.2.1"}, {Address: "fd00::5/64"}},
				Routes:    []osv1.StaticIPAMRoutes{{Destination: "198.51.100.0/24", Gateway: "192.0.2.2"}, {Destination: "203.0.113.0/24"}},
				DNS:       &osv1.StaticIPAMDNS{Nameservers: []string{"192.0.2.53"}, Domain: "example.test", Search: []string{"a.test"}},
			}},
		}},
	}
}

func TestRender(t *testing.T) {
	for name, change := range map[string]func(*operatorv1.NetworkSpec){"fresh": nil, "all-fields": some} {
		t.Run(name, func(t *testing.T) {
			out := run(t, specification(change), nil, cluster())
			got, err := manifest.Encode(out.Objects)
			if err != nil {
				t.Fatal(err)
			}
			golden.Compare(t, "testdata/"+name+".out.yaml", got)
			for _, o := range out.Objects {
				if manifest.IsWorkload(o.Key().GroupKind()) && !o.Policy.NonCritical {
					t.Errorf("%s blocks the pod network", o.Key())
				}
			}
		})
	}
}

func TestNothingIsRenderedWhenItIsDisabled(t *testing.T) {
	spec := specification(func(s *operatorv1.NetworkSpec) { s.DisableMultiNetwork = new(true) })
	if out := run(t, spec, nil, cluster()); out != nil {
		t.Errorf("%d objects", len(out.Objects))
	}
	if filled := component().Default(spec, nil, provider.Traits{}, facts.Cluster{}); filled.MultiNetwork != nil {
		t.Errorf("settings are recorded that have no effect: %+v", filled.MultiNetwork)
	}
}

// configOfDaemons is the configuration in an output.
func configOfDaemons(t *testing.T, out *provider.Output) (agentconfig.Config, *corev1.ConfigMap) {
	t.Helper()
	for _, o := range out.Objects {
		if o.Key().Kind != "ConfigMap" {
			continue
		}
		cm := &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, cm); err != nil {
			t.Fatal(err)
		}
		c, err := agentconfig.Decode([]byte(cm.Data[agentconfig.FileName]))
		if err != nil || len(c.Validate()) > 0 {
			t.Fatalf("the daemons refuse their configuration: %v, %v", err, c.Validate())
		}
		return c, cm
	}
	t.Fatal("there is no ConfigMap")
	return agentconfig.Config{}, nil
}

func TestDaemonsReadTheSettings(t *testing.T) {
	got, _ := configOfDaemons(t, run(t, specification(some), nil, cluster()))
	want := agentconfig.Default()
	want.NamespaceIsolation, want.GlobalNamespaces, want.Attachments, want.Masters = false, []string{"shared"}, agentconfig.Restricted, []string{"eth1"}
	want.Policies, want.ReservedPlugins = true, []string{"calico"}
	want.ReservedBridges, want.ReservedNetworks = []string{"cni0"}, []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16")}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	got, _ = configOfDaemons(t, run(t, specification(nil), nil, cluster()))
	want = agentconfig.Default()
	if !got.NamespaceIsolation || got.Attachments != agentconfig.Trusted || cmp.Diff(want.GlobalNamespaces, got.GlobalNamespaces) != "" {
		t.Errorf("by default: %+v, and the daemon's own default is %+v", got, want)
	}
}

func names(out *provider.Output, kind string) string {
	var all []string
	for _, o := range out.Objects {
		if o.Key().Kind == kind {
			all = append(all, o.Key().Name)
		}
	}
	return strings.Join(all, " ")
}

// reader reads a cluster with some objects, and serves all APIs.
func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestWithoutAnImageTheRestIsRenderedAndTheCauseReported(t *testing.T) {
	f := cluster()
	_, before := configOfDaemons(t, run(t, specification(nil), nil, f))
	f.Images = facts.Images{}
	out := run(t, specification(nil), nil, f)
	if names(out, "DaemonSet") != "" || !strings.Contains(names(out, "CustomResourceDefinition"), "network-attachment-definitions") || !strings.Contains(out.Unavailable, ImageVariable) {
		t.Errorf("never with an image: DaemonSet %q, %q", names(out, "DaemonSet"), out.Unavailable)
	}
	out = run(t, specification(nil), reader(t, before), f)
	if names(out, "DaemonSet") != daemonName || !strings.HasSuffix(out.Unavailable, "until then nodes keep registry.test/multus:v1") {
		t.Errorf("an image that went missing: DaemonSet %q, %q", names(out, "DaemonSet"), out.Unavailable)
	}
}

func TestCRDsOfOtherComponentsAreKept(t *testing.T) {
	crd := func(name string, labels map[string]string) client.Object {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	all := names(run(t, specification(nil), nil, cluster()), "CustomResourceDefinition")
	out := run(t, specification(nil), reader(t,
		crd("ipamclaims.k8s.cni.cncf.io", nil), crd("ippools.whereabouts.cni.cncf.io", map[string]string{manifest.LabelManagedBy: manifest.ManagedBy})), cluster())
	if got, want := names(out, "CustomResourceDefinition"), strings.Replace(all, "ipamclaims.k8s.cni.cncf.io ", "", 1); got != want || want == all {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestANetworkWithoutItsNamespaceWaits(t *testing.T) {
	spec := specification(some)
	out := run(t, spec, reader(t), cluster())
	if names(out, attachmentKind) != "short static" || len(out.Problems) != 1 || !strings.Contains(out.Problems[0], "namespace tenant does not exist") || out.Again == 0 {
		t.Errorf("%s, %q, %s", names(out, attachmentKind), out.Problems, out.Again)
	}
	out = run(t, spec, reader(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}), cluster())
	if names(out, attachmentKind) != "raw short static" || len(out.Problems) != 0 || out.Again != 0 {
		t.Errorf("with it: %s, %q, %s", names(out, attachmentKind), out.Problems, out.Again)
	}
}

func TestARemovedNetworkStaysWhilePodsUseIt(t *testing.T) {
	before := run(t, specification(some), nil, cluster())
	_, cm := configOfDaemons(t, before)
	var short client.Object
	for _, o := range before.Objects {
		if o.Key().Kind == attachmentKind && o.Key().Name == "short" {
			short = o.Object
		}
	}
	pod := func(name, annotation string, phase corev1.PodPhase) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: name, Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": annotation}}, Status: corev1.PodStatus{Phase: phase}}
	}
	for _, tc := range []struct {
		why  string
		pods []client.Object
		want string
	}{
		{"none", nil, ""},
		{"a pod that waits for it, one that has it, and one of each that has nothing to do with it", []client.Object{
			pod("b", "default/short", corev1.PodPending), pod("a", `[{"namespace":"default","name":"short"}]`, corev1.PodRunning),
			pod("own", "short", corev1.PodRunning), pod("ended", "default/short", corev1.PodFailed), pod("wrong", "default/short,,", corev1.PodPending),
		}, "NetworkAttachmentDefinition default/short was removed from spec.additionalNetworks and is kept while pods use it: tenant/a and tenant/b"},
	} {
		out := run(t, specification(nil), reader(t, append(tc.pods, cm, short)...), cluster())
		kept := names(out, attachmentKind)
		if (kept == "short") != (tc.want != "") || strings.Join(out.Problems, "; ") != tc.want {
			t.Errorf("%s: kept %q, %q", tc.why, kept, out.Problems)
		}
		// What is kept is known as kept the next time.
		_, next := configOfDaemons(t, out)
		if (next.Data[recordKey] == `["default/short"]`) != (tc.want != "") {
			t.Errorf("%s: recorded %s", tc.why, next.Data[recordKey])
		}
	}
}

// component is the component where the operator installs flannel and the network of the test specifications.
func component(bridges ...string) provider.Component {
	return New([]operatorv1.NetworkType{operatorv1.NetworkTypeFlannel, "Calico"}, provider.Operands{Bridges: bridges, Plugins: []string{"calico"}})
}

// The daemon writes the runtime's configuration where a third party does not start the shim, and has no access to it otherwise.
func TestTheConfigurationOfAThirdPartyIsWrapped(t *testing.T) {
	for network, want := range map[operatorv1.NetworkType]bool{"Calico": false, "Other": true} {
		out := run(t, specification(func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = network }), nil, cluster())
		if config, _ := configOfDaemons(t, out); config.WrapNetwork != want || out.Unavailable != "" {
			t.Errorf("%s: wrapped is %v, %q", network, config.WrapNetwork, out.Unavailable)
		}
		for _, c := range daemonSet(t, out).Spec.Template.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if m.Name == runtimeConfigs && m.ReadOnly == want {
					t.Errorf("%s: container %s has a read-only directory: %v", network, c.Name, m.ReadOnly)
				}
			}
		}
	}
}

func daemonSet(t *testing.T, out *provider.Output) *appsv1.DaemonSet {
	t.Helper()
	d := &appsv1.DaemonSet{}
	for _, o := range out.Objects {
		if o.Key().Kind == "DaemonSet" && o.Key().Name == daemonName {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

func TestContainersOfPolicies(t *testing.T) {
	for on, want := range map[bool][]string{false: {"install-cni", "install-sysctls", "remove-policies", "multus", "dhcp"}, true: {"install-cni", "install-sysctls", "multus", "dhcp", "multi-networkpolicy"}} {
		out := run(t, specification(func(s *operatorv1.NetworkSpec) { s.UseMultiNetworkPolicy = new(on) }), nil, cluster())
		if config, _ := configOfDaemons(t, out); config.Policies != on {
			t.Errorf("policies are %v, the daemons read %v", on, config.Policies)
		}
		d := daemonSet(t, out)
		var have []string
		for _, c := range append(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers...) {
			have = append(have, c.Name)
			if c.Image == "" {
				t.Errorf("%s has no image", c.Name)
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
	}
}
