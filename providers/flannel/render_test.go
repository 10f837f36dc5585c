package flannel

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/etcdcluster"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/internal/testing/golden"
	"github.com/cluster-network-operator/cno/providers/flannel/record"
)

// cluster is the cluster that goldens are rendered for.
func cluster() facts.Cluster {
	node := func(name, address string) facts.Node {
		return facts.Node{Name: name, UID: name + "-0000-uid", Addresses: []netip.Addr{netip.MustParseAddr(address)}}
	}
	return facts.Cluster{
		HostMTU: 1500, NodeCount: 5,
		Images:       facts.Images{record.FlannelImage: "registry.test/flannel:v1", record.EtcdImage: "registry.test/etcd:v1", facts.OperatorImage: "registry.test/cno:v1"},
		ControlPlane: []facts.Node{node("cp-0", "192.0.2.10"), node("cp-1", "192.0.2.11"), node("cp-2", "192.0.2.12")},
	}
}

// configMaps is a cluster that has only ConfigMaps.
type configMaps []*corev1.ConfigMap

func (c configMaps) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, cm := range c {
		if client.ObjectKeyFromObject(cm) == key {
			cm.DeepCopyInto(into.(*corev1.ConfigMap))
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
}

func (configMaps) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("nothing is to be listed")
}

// load reads a Network and the ConfigMaps of the cluster that it is rendered for. Without ConfigMaps, there is no
// cluster.
func load(t *testing.T, path string) (*operatorv1.NetworkSpec, client.Reader) {
	t.Helper()
	docs, err := manifest.DecodeAll(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	network := docs[0].(*operatorv1.Network)
	if len(docs) == 1 {
		return &network.Spec, nil
	}
	var reader configMaps
	for _, d := range docs[1:] {
		reader = append(reader, d.(*corev1.ConfigMap))
	}
	return &network.Spec, reader
}

func render(t *testing.T, spec *operatorv1.NetworkSpec, r client.Reader, f facts.Cluster) (provider.Output, error) {
	t.Helper()
	if errs := (Flannel{}).Validate(spec); len(errs) > 0 {
		t.Fatalf("the specification is not valid: %v", errs.ToAggregate())
	}
	renderer, err := Flannel{}.Observe(t.Context(), r, spec)
	if err != nil {
		t.Fatal(err)
	}
	return renderer.Render(Flannel{}.Default(spec, nil, f), f)
}

// TestRender compares what is rendered for testdata/*.in.yaml with testdata/*.out.yaml.
func TestRender(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, in := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(in), ".in.yaml"), func(t *testing.T) {
			spec, reader := load(t, in)
			out, err := render(t, spec, reader, cluster())
			if err != nil {
				t.Fatal(err)
			}
			got, err := manifest.Encode(out.Objects)
			if err != nil {
				t.Fatal(err)
			}
			if out.Waiting != "" {
				got = append(got, "# waiting: "+out.Waiting+"\n"...)
			}
			golden.Compare(t, strings.TrimSuffix(in, ".in.yaml")+".out.yaml", got)
		})
	}
}

func TestRenderRefusesAnMTUThatNodesCannotCarryBeforeItIsInUse(t *testing.T) {
	spec := &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.128.0.0/14", HostPrefix: 23}},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: operatorv1.NetworkTypeFlannel, FlannelConfig: &operatorv1.FlannelConfig{
			Backend: operatorv1.FlannelBackendVXLAN, MTU: new(uint32(1460)),
		}},
	}
	_, err := render(t, spec, nil, cluster())
	const want = "spec.defaultNetwork.flannelConfig.mtu: 1460 needs links of at least 1510 (vxlan adds 50), and a node has one of 1500; use 1450 or less"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
	inUse := configMaps{{Data: map[string]string{agentKey: `{"version":1,"mtu":1460}`}}}
	inUse[0].Namespace, inUse[0].Name = record.Namespace, record.ConfigMap
	if _, err := render(t, spec, inUse, cluster()); err != nil {
		t.Errorf("a node that joined with less stops the repair of all others: %v", err)
	}
}

func TestRenderNamesTheMissingImage(t *testing.T) {
	spec, reader := load(t, "testdata/managed.in.yaml")
	for _, variable := range []string{record.FlannelImage, record.EtcdImage} {
		f := cluster()
		delete(f.Images, variable)
		if _, err := render(t, spec, reader, f); !errors.Is(err, facts.ErrNoImage) || !strings.Contains(err.Error(), variable) {
			t.Errorf("without %s: %v", variable, err)
		}
	}
}

func TestObserveNeverTakesADamagedRecordForAFreshCluster(t *testing.T) {
	for name, content := range map[string]map[string]string{
		"emptied by hand": {}, "not JSON": {etcdcluster.MembersKey: "{"}, "no address": {etcdcluster.MembersKey: `{"members":[{"name":"a","node":"b"}]}`},
	} {
		cm := &corev1.ConfigMap{Data: content}
		cm.Namespace, cm.Name = record.Namespace, record.Etcd.MembersConfigMap()
		if _, err := (Flannel{}).Observe(t.Context(), configMaps{cm}, nil); err == nil {
			t.Errorf("%s: taken for a record", name)
		}
	}
}

// TestMetricsDoNotDelayRollouts: proxies are not critical, and without the operator's image flannel is rendered without them.
func TestMetricsDoNotDelayRollouts(t *testing.T) {
	spec, reader := load(t, "testdata/external.in.yaml")
	with, err := render(t, spec, reader, cluster())
	if err != nil {
		t.Fatal(err)
	}
	f := cluster()
	delete(f.Images, facts.OperatorImage)
	without, err := render(t, spec, reader, f)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[manifest.Key]bool{}
	for _, o := range without.Objects {
		kept[o.Key()] = true
	}
	proxies := 0
	for _, o := range with.Objects {
		if kept[o.Key()] {
			continue
		}
		proxies++
		if !o.Policy.NonCritical {
			t.Errorf("the network waits for %s", o.Key())
		}
	}
	if proxies != 4 {
		t.Errorf("%d objects are for metrics alone, want a service account, a binding, a Service and a DaemonSet", proxies)
	}
}
