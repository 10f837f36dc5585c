package networks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	osv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/runtime"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
)

const module = "github.com/cluster-network-operator/cno/"

// refusedWhole are fields that Validate refuses with everything below them.
var refusedWhole = []string{"spec.migration.features", "spec.defaultNetwork.ovnKubernetesConfig.hybridOverlayConfig"}

// declared is an entry of the tables of fields with the directory of what reads it.
type declared struct {
	provider.Field
	reader string
}

// declarations returns every entry of the tables with the directory of the package that reads it.
func declarations() []declared {
	var all []declared
	add := func(of any, fields []provider.Field) {
		home := strings.TrimPrefix(reflect.TypeOf(of).PkgPath(), module)
		for _, f := range fields {
			reader := f.Reader
			if reader == "" {
				reader = home
			}
			all = append(all, declared{f, reader})
		}
	}
	add(pipeline.Pipeline{}, pipeline.Registry{}.Fields(""))
	for _, p := range Registry().Providers {
		add(p, p.Fields())
	}
	for _, c := range Registry().Components {
		add(c, c.Fields())
	}
	return all
}

// TestEveryFieldIsReadOrDeclaredWithoutEffect: a field that is accepted does something, or the tables declare that it does
// not, from which the status and the plan report it.
func TestEveryFieldIsReadOrDeclaredWithoutEffect(t *testing.T) {
	known := declarations()
	selected := map[string]map[string]bool{}
	seen := 0
	leaves("spec", "", reflect.TypeFor[operatorv1.NetworkSpec](), nil, func(path string, names []string) {
		seen++
		if slices.ContainsFunc(notYet, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") }) {
			return // refused: there is no network that these settings belong to
		}
		if i := strings.LastIndex(path, "."); slices.Contains(refusedWhole, path[:i]) {
			path, names = path[:i], names[:len(names)-1]
		}
		entry := nearest(known, path)
		switch {
		case entry.Path == "" || entry.Path == "spec.defaultNetwork" && path != entry.Path:
			t.Errorf("%s: no provider, component or common table declares it: add an entry with its reader, or with Unread", path)
		case entry.Unread != "":
		case entry.Needs == provider.NeedsNetwork:
			for _, p := range Registry().Providers {
				home := strings.TrimPrefix(reflect.TypeOf(p).PkgPath(), module)
				if slices.Contains(p.Traits().Implements, entry.Path) && !reads(t, selected, home, names) {
					t.Errorf("%s: the network in %s declares that it implements it, and does not read .%s", path, home, names[len(names)-1])
				}
			}
		case !reads(t, selected, entry.reader, names):
			t.Errorf("%s: %s is declared as its reader, and does not read .%s", path, entry.reader, names[len(names)-1])
		}
	})
	if seen < 60 {
		t.Fatalf("only %d fields were found", seen)
	}
	for _, p := range Registry().Providers {
		for _, path := range p.Traits().Implements {
			if i := slices.IndexFunc(known, func(d declared) bool { return d.Path == path }); i < 0 || known[i].Needs != provider.NeedsNetwork {
				t.Errorf("%s implements %s, which is not declared as a field that only some networks implement", p.Traits().Type, path)
			}
		}
	}
}

// nearest returns the entry of a path, or of the nearest field above it that has one.
func nearest(all []declared, path string) declared {
	var best declared
	for _, d := range all {
		if (path == d.Path || strings.HasPrefix(path, d.Path+".")) && len(d.Path) > len(best.Path) {
			best = d
		}
	}
	return best
}

// leaves visits every field without fields of its own, with the names in Go on the way to it from the nearest type of
// OpenShift's or the operator's API.
func leaves(path, name string, typ reflect.Type, above []string, visit func(string, []string)) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if name != "" {
		above = append(slices.Clone(above), name)
	}
	if typ.Kind() != reflect.Struct || !strings.Contains(typ.PkgPath(), "openshift/api") && !strings.HasPrefix(typ.PkgPath(), module) || typ.NumField() == 0 {
		visit(path, above)
		return
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" {
			leaves(path, "", f.Type, above, visit)
			continue
		}
		leaves(path+"."+tag, f.Name, f.Type, above, visit)
	}
}

// reads reports whether a package, or one below it, selects a field by its name.
func reads(t *testing.T, known map[string]map[string]bool, dir string, names []string) bool {
	t.Helper()
	if known[dir] == nil {
		known[dir] = selectors(t, filepath.Join("../..", dir))
	}
	return known[dir][names[len(names)-1]]
}

// selectors returns the names that the files of a package, and of those below it, select.
func selectors(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				found[s.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAFieldWithoutEffectIsNamed(t *testing.T) {
	base := func(edit func(*operatorv1.NetworkSpec)) *operatorv1.NetworkSpec {
		s := &operatorv1.NetworkSpec{
			ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/16", HostPrefix: 24}},
			ServiceNetwork: []string{"10.96.0.0/16"},
			DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel},
		}
		edit(s)
		return s
	}
	raw := runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	for _, tc := range []struct {
		why  string
		edit func(*operatorv1.NetworkSpec)
		want []string
	}{
		{"defaults alone", func(*operatorv1.NetworkSpec) {}, nil},
		{"turned off, or empty", func(s *operatorv1.NetworkSpec) {
			s.UseMultiNetworkPolicy, s.ExportNetworkFlows = new(false), &osv1.ExportNetworkFlows{}
			s.UnsupportedConfigOverrides = &runtime.RawExtension{Raw: []byte(`{}`)}
		}, nil},
		{"fields of other networks", func(s *operatorv1.NetworkSpec) {
			s.AdditionalRoutingCapabilities = &osv1.AdditionalRoutingCapabilities{Providers: []osv1.RoutingCapabilitiesProvider{"FRR"}}
			s.ExportNetworkFlows = &osv1.ExportNetworkFlows{NetFlow: &osv1.NetFlowConfig{Collectors: []osv1.IPPort{"192.0.2.1:2055"}}}
		}, []string{
			"spec.exportNetworkFlows: has no effect with network type Flannel; remove it (no-effect)",
			"spec.additionalRoutingCapabilities: has no effect with network type Flannel; remove it (no-effect)",
		}},
		{"what a third-party network may read, and this operator does not", func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork.Type = "Calico"
			s.ExportNetworkFlows = &osv1.ExportNetworkFlows{NetFlow: &osv1.NetFlowConfig{Collectors: []osv1.IPPort{"192.0.2.1:2055"}}}
		}, []string{"spec.exportNetworkFlows: has no effect with network type Calico; remove it (no-effect)"}},
		{"audit messages, which OVN-Kubernetes writes", func(s *operatorv1.NetworkSpec) {
			s.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeOVNKubernetes, OVNKubernetesConfig: &osv1.OVNKubernetesConfig{
				PolicyAuditConfig: &osv1.PolicyAuditConfig{RateLimit: new(uint32(20))},
			}}
		}, nil},
		{"several networks per pod", func(s *operatorv1.NetworkSpec) {
			s.UseMultiNetworkPolicy = new(true)
			s.AdditionalNetworks = []osv1.AdditionalNetworkDefinition{{Name: "a", Type: osv1.NetworkTypeRaw, RawCNIConfig: `{"type":"x"}`}}
		}, nil},
		{"settings of several networks per pod, which are disabled", func(s *operatorv1.NetworkSpec) {
			s.DisableMultiNetwork, s.MultiNetwork = new(true), &operatorv1.MultiNetworkConfig{Attachments: operatorv1.AttachmentsTrusted}
		}, []string{"spec.multiNetwork: has no effect while MultiNetwork is not deployed; remove it (no-effect)"}},
		{"settings of a kube-proxy that is not deployed", func(s *operatorv1.NetworkSpec) {
			s.DeployKubeProxy = new(false)
			s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "0.0.0.0", ProxyArguments: map[string]osv1.ProxyArgumentList{"proxy-mode": {"iptables"}}}
		}, []string{"spec.kubeProxyConfig: has no effect while KubeProxy is not deployed; remove it (no-effect)"}},
		{"settings of one that is", func(s *operatorv1.NetworkSpec) { s.KubeProxyConfig = &osv1.ProxyConfig{BindAddress: "0.0.0.0"} }, nil},
		{"what the operators of OpenShift have in common", func(s *operatorv1.NetworkSpec) { s.UnsupportedConfigOverrides, s.ObservedConfig = &raw, &raw }, []string{
			"spec.unsupportedConfigOverrides: has no effect: the operator does not read it; remove it (no-effect)",
			"spec.observedConfig: has no effect: the operator does not read it; remove it (no-effect)",
		}},
	} {
		p := pipeline.Pipeline{Registry: Registry()}
		known := facts.Cluster{HostMTU: 1500}
		spec := base(tc.edit)
		res, err := p.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: known}, pipeline.Check)
		if err != nil {
			t.Errorf("%s: it is refused: %v", tc.why, err)
		}
		if diff := cmp.Diff(tc.want, texts(res.Ineffective)); diff != "" {
			t.Errorf("%s: %s", tc.why, diff)
		}
		refused := base(tc.edit)
		refused.ServiceNetwork = []string{"10.97.0.0/16"}
		choice, err := p.Choose(t.Context(), pipeline.Input{Desired: refused, Applied: base(func(*operatorv1.NetworkSpec) {}), Cluster: known})
		if res = choice.Result; res.Refused == nil {
			t.Errorf("%s: another service network is not refused: %v", tc.why, err)
		}
		if diff := cmp.Diff(tc.want, texts(res.Ineffective)); diff != "" {
			t.Errorf("%s, in an edit that is refused: %s", tc.why, diff)
		}
	}
}

func texts(r pipeline.Refusals) []string {
	var out []string
	for _, one := range r {
		out = append(out, one.String())
	}
	return out
}
