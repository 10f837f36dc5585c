package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
)

func flannelTraits() provider.Traits {
	return provider.Traits{Type: operatorv1.NetworkTypeFlannel, HostPrefix: true, MaxClusterNetworks: 1, HostMTU: true}
}

// ovnTraits are those of a network that can do everything.
func ovnTraits() provider.Traits {
	return provider.Traits{
		Type: operatorv1.NetworkTypeOVNKubernetes, Default: true, ServiceProxy: true, HostPrefix: true, DualStack: true, IPv6: true,
		GrowPools: true, ConvertDualStack: true, MTUMigration: true,
	}
}

// agents returns the objects of a network with n DaemonSets.
func agents(n int) func(*operatorv1.NetworkSpec, facts.Cluster) ([]manifest.Object, error) {
	return func(*operatorv1.NetworkSpec, facts.Cluster) ([]manifest.Object, error) {
		var objects []manifest.Object
		for i := range n {
			objects = append(objects, workload("DaemonSet", fmt.Sprintf("agent-%d", i)))
		}
		return append(objects, object("v1", "Namespace", "", "openshift-flannel")), nil
	}
}

// fakeComponent is deployed when kube-proxy is asked for.
type fakeComponent struct {
	name    string
	objects []manifest.Object
	err     error // of Render
	nothing bool
}

func (c fakeComponent) Name() string { return c.name }

func (c fakeComponent) Enabled(spec *operatorv1.NetworkSpec) bool { return *spec.DeployKubeProxy }

func (c fakeComponent) Validate(spec *operatorv1.NetworkSpec, _ provider.Traits) field.ErrorList {
	if p := spec.KubeProxyConfig; p != nil && p.BindAddress == "nowhere" {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "kubeProxyConfig", "bindAddress"), p.BindAddress, "BindAddress must be a valid IP address")}
	}
	return nil
}

func (c fakeComponent) Default(spec, _ *operatorv1.NetworkSpec, _ provider.Traits, _ facts.Cluster) *operatorv1.NetworkSpec {
	return spec
}

func (c fakeComponent) Fields() []provider.Field { return nil }

func (c fakeComponent) CheckChange(_, _ *operatorv1.NetworkSpec) field.ErrorList { return nil }

func (c fakeComponent) Observe(context.Context, client.Reader, *operatorv1.NetworkSpec) (provider.Renderer, error) {
	if c.nothing {
		return nil, nil
	}
	return c, nil
}

func (c fakeComponent) Render(*operatorv1.NetworkSpec, facts.Cluster) (provider.Output, error) {
	return provider.Output{Objects: c.objects}, c.err
}

func object(apiVersion, kind, namespace, name string) manifest.Object {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return manifest.Object{Object: o}
}

func workload(kind, name string) manifest.Object {
	o := object("apps/v1", kind, "openshift-flannel", name)
	o.Object.Object["spec"] = map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}}, "spec": map[string]any{"hostNetwork": true},
	}}
	return o
}

func registry() Registry {
	return Registry{
		Providers: []provider.Provider{
			fakeprovider.Network{With: flannelTraits(), Objects: agents(1)}, fakeprovider.Network{With: ovnTraits(), Objects: agents(0)},
			NotBuilt(operatorv1.NetworkTypeOpenShiftSDN), NotBuilt(operatorv1.NetworkTypeKuryr),
		},
		Components: []provider.Component{fakeComponent{name: "KubeProxy", objects: []manifest.Object{object("v1", "ConfigMap", "openshift-kube-proxy", "proxy-config")}}},
	}
}

func newPipeline() Pipeline {
	return Pipeline{Registry: registry(), Log: slog.New(slog.DiscardHandler)}
}

// cluster is a cluster of which enough is known for everything.
func cluster() facts.Cluster { return facts.Cluster{HostMTU: 1500, ReleaseVersion: "v9"} }

type edit = func(*operatorv1.NetworkSpec)

// spec is a good one, with edits.
func spec(edits ...edit) *operatorv1.NetworkSpec {
	s := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		ServiceNetwork: []string{"172.30.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
	}
	for _, e := range edits {
		e(s)
	}
	return s
}

func typed(t operatorv1.NetworkType) edit {
	return func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = t }
}

func services(list ...string) edit {
	return func(s *operatorv1.NetworkSpec) { s.ServiceNetwork = list }
}

// podPools sets the pools: each text is "cidr hostPrefix".
func podPools(list ...string) edit {
	return func(s *operatorv1.NetworkSpec) {
		s.ClusterNetwork = nil
		for _, text := range list {
			var e operatorv1.ClusterNetworkEntry
			if n, _ := fmt.Sscan(text, &e.CIDR, &e.HostPrefix); n == 0 {
				e.CIDR = text
			}
			s.ClusterNetwork = append(s.ClusterNetwork, e)
		}
	}
}

// summaries lists refusals as "field rule".
func summaries(r Refusals) []string {
	out := []string{}
	for _, one := range r {
		out = append(out, one.Field+" "+one.Rule)
	}
	return out
}

// reconcile chooses a specification and renders it.
func reconcile(ctx context.Context, p Pipeline, in Input) (Result, error) {
	chosen, err := p.Choose(ctx, in)
	if err != nil {
		return chosen.Result, err
	}
	return chosen.Render(ctx, in.Cluster)
}

func mustRun(t testing.TB, in Input, last Stage) Result {
	t.Helper()
	res, err := newPipeline().Run(context.Background(), in, last)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
