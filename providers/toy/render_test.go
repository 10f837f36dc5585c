package toy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/cluster-network-operator/cno/providers/kubeproxy"
	"github.com/cluster-network-operator/cno/providers/toy/agentconfig"
)

func cluster(nodes int) facts.Cluster {
	f := facts.Cluster{
		HostMTU: 1500, NodeCount: nodes, NodeAddresses: map[string][]netip.Addr{}, ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443},
		Images: facts.Images{Image: "registry.test/toy:v1", "KUBE_PROXY_IMAGE": "registry.test/kube-proxy:v1", facts.OperatorImage: "registry.test/cno:v1"},
	}
	for i := range nodes {
		f.NodeAddresses[fmt.Sprintf("node-%d", i)] = []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.AddrFrom4([4]byte{192, 0, 2, byte(10 + i)})}
	}
	return f
}

func network(prefix uint32) *operatorv1.NetworkSpec {
	return &operatorv1.NetworkSpec{
		ClusterNetwork: []operatorv1.ClusterNetworkEntry{{CIDR: "10.244.0.0/22", HostPrefix: prefix}},
		ServiceNetwork: []string{"10.96.0.0/16"},
		DefaultNetwork: operatorv1.DefaultNetworkDefinition{Type: Type},
	}
}

// run runs the whole pipeline with the network in the list of networks, which is all that a network needs.
func run(t *testing.T, spec *operatorv1.NetworkSpec, reader client.Reader, f facts.Cluster) provider.Output {
	t.Helper()
	p := pipeline.Pipeline{Registry: pipeline.Registry{Providers: []provider.Provider{New()}, Components: []provider.Component{kubeproxy.New()}}}
	res, err := p.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: f, Reader: reader}, pipeline.Render)
	if err != nil {
		t.Fatal(err)
	}
	return res.Outputs[0].Output
}

func TestRender(t *testing.T) {
	out := run(t, network(24), nil, cluster(3))
	got, err := manifest.Encode(out.Objects)
	if err != nil {
		t.Fatal(err)
	}
	const file = "testdata/fresh.out.yaml"
	golden.Compare(t, file, got)
}

func table(t *testing.T, out provider.Output) (agentconfig.Nodes, *corev1.ConfigMap) {
	t.Helper()
	for _, o := range out.Objects {
		if o.Object.GetKind() != "ConfigMap" {
			continue
		}
		cm := &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object.Object, cm); err != nil {
			t.Fatal(err)
		}
		nodes, err := agentconfig.DecodeNodes([]byte(cm.Data[agentconfig.NodesFile]))
		if err != nil {
			t.Fatal(err)
		}
		config, err := agentconfig.Decode([]byte(cm.Data[agentconfig.FileName]))
		if err != nil || len(config.Validate()) > 0 {
			t.Fatalf("the agents refuse their configuration: %v, %v", err, config.Validate())
		}
		return nodes, cm
	}
	t.Fatal("there is no ConfigMap")
	return agentconfig.Nodes{}, nil
}

func TestNodesKeepTheirBlocks(t *testing.T) {
	before, cm := table(t, run(t, network(24), nil, cluster(2)))
	reader := fake.NewClientBuilder().WithObjects(cm).Build()
	f := cluster(3)
	delete(f.NodeAddresses, "node-0")
	out := run(t, network(24), reader, f)
	after, _ := table(t, out)
	if after.Nodes["node-1"] != before.Nodes["node-1"] || len(after.Nodes) != 2 || out.Unavailable != "" {
		t.Errorf("before %v, after %v, %q", before, after, out.Unavailable)
	}
	if n := after.Nodes["node-2"]; n.Address.String() != "192.0.2.12" || n.Block == before.Nodes["node-1"].Block {
		t.Errorf("a node that joined has %v", n)
	}
	out = run(t, network(24), reader, cluster(4))
	if full, _ := table(t, out); len(full.Nodes) != 3 || !strings.Contains(out.Unavailable, "no block left for the nodes node-") {
		t.Errorf("four nodes of a pool with three blocks: %v, %q", full, out.Unavailable)
	}
}

func TestDamagedTableIsAnErrorAndNotReplaced(t *testing.T) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configMap}, Data: map[string]string{agentconfig.NodesFile: "{"}}
	if _, err := New().Observe(t.Context(), fake.NewClientBuilder().WithObjects(cm).Build(), network(24)); err == nil {
		t.Error("nodes would get other blocks")
	}
}
