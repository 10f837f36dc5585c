package networks

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/pipeline"
	"github.com/cluster-network-operator/cno/internal/provider"
	"github.com/cluster-network-operator/cno/providers/toy"
)

// withToy is what a release has, and the toy network.
func withToy() pipeline.Pipeline {
	r := Registry()
	if !slices.ContainsFunc(r.Providers, func(p provider.Provider) bool { return p.Traits().Type == toy.Type }) {
		r = registry(append(r.Providers, toy.New()))
	}
	return pipeline.Pipeline{Registry: r}
}

func toyNetwork(s *operatorv1.NetworkSpec) {
	s.DefaultNetwork = operatorv1.DefaultNetworkDefinition{Type: toy.Type}
}

// oneNode is what is known of a cluster in which each network can be rendered.
func oneNode() facts.Cluster {
	return facts.Cluster{
		HostMTU: 1500, NodeCount: 1, NodeAddresses: map[string][]netip.Addr{"node-0": {netip.MustParseAddr("192.0.2.10")}},
		ReleaseVersion: "v1", APIServer: facts.HostPort{Host: "192.0.2.100", Port: 6443},
		Images: facts.Images{toy.Image: "toy:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1", facts.OperatorImage: "o:v1"},
	}
}

// TestTwoNetworksAreRenderedAtOnce renders two networks for one cluster, as during a migration from one to the
// other: all objects of both, each once, the components that both need included, and nothing that only one of them can have.
func TestTwoNetworksAreRenderedAtOnce(t *testing.T) {
	p := withToy()
	for _, tc := range []struct {
		why              string
		applied, desired *operatorv1.NetworkSpec
	}{
		{"from flannel", withMTU(0), withMTU(0, toyNetwork)},
		{"to flannel", withMTU(0, toyNetwork), withMTU(0)},
	} {
		t.Run(tc.why, func(t *testing.T) {
			pair, err := p.ChoosePair(t.Context(), pipeline.Input{Desired: tc.desired, Applied: tc.applied, Cluster: oneNode()})
			if err != nil {
				t.Fatal(err)
			}
			both, err := pair.Render(t.Context(), oneNode())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range both.Conflicts {
				t.Error(c)
			}
			want := map[manifest.Key]bool{}
			for _, spec := range []*operatorv1.NetworkSpec{tc.applied, tc.desired} {
				alone, err := p.Run(t.Context(), pipeline.Input{Desired: spec, Cluster: oneNode()}, pipeline.Render)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range alone.Outputs {
					for _, object := range o.Output.Objects {
						want[object.Key()] = true
					}
				}
			}
			got := map[manifest.Key]bool{}
			for _, o := range both.Objects() {
				if got[o.Key()] {
					t.Errorf("%s appears twice", o.Key())
				}
				got[o.Key()] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("not the objects of both networks (-want +got):\n%s", d)
			}
			for _, ns := range []string{"openshift-flannel", "openshift-toy", "openshift-kube-proxy"} {
				if !got[manifest.Key{Kind: "Namespace", Name: ns}] {
					t.Errorf("there is no namespace %s", ns)
				}
			}
			if tc.applied.DefaultNetwork.Type != both.From.Spec.DefaultNetwork.Type || tc.desired.DefaultNetwork.Type != both.To.Spec.DefaultNetwork.Type {
				t.Errorf("from %s to %s", both.From.Spec.DefaultNetwork.Type, both.To.Spec.DefaultNetwork.Type)
			}
		})
	}
}

// TestOnlyTheNetworkChangesWithTheNetwork: all other changes are checked as usual.
func TestOnlyTheNetworkChangesWithTheNetwork(t *testing.T) {
	for _, tc := range []struct {
		why              string
		applied, desired *operatorv1.NetworkSpec
		want             string // the error has it
	}{
		{"nothing is applied", nil, withMTU(0), "there is only one"},
		{"the same network", withMTU(0), withMTU(1400), "both are of type Flannel"},
		{"another pool", withMTU(0), withMTU(0, toyNetwork, func(s *operatorv1.NetworkSpec) { s.ClusterNetwork[0].CIDR = "10.200.0.0/16" }), "cluster-network-change"},
		{"other Services", withMTU(0), withMTU(0, toyNetwork, func(s *operatorv1.NetworkSpec) { s.ServiceNetwork[0] = "10.97.0.0/16" }), "service-network-change"},
		{"a network that is not built", withMTU(0), withMTU(0, func(s *operatorv1.NetworkSpec) { s.DefaultNetwork.Type = operatorv1.NetworkTypeKuryr }), "not-built"},
		{"links that are too small", withMTU(0, toyNetwork), withMTU(1490), "mtu-links"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := withToy().ChoosePair(t.Context(), pipeline.Input{Desired: tc.desired, Applied: tc.applied, Cluster: oneNode()})
			if err == nil {
				t.Fatal("it is chosen")
			}
			if refusals := pipeline.RefusalsOf(err); !refusals.Has(tc.want) && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
