package pipeline

import (
	"github.com/cluster-network-operator/cno/internal/testing/fakeprovider"
	"testing"

	operatorv1 "github.com/cluster-network-operator/cno/api/operator/v1"
	"github.com/cluster-network-operator/cno/internal/provider"
)

// BenchmarkPipeline runs all stages against an applied network with 60 objects, which is as many as a large
// provider renders. Rendering everything may take ten milliseconds.
func BenchmarkPipeline(b *testing.B) {
	p := newPipeline()
	p.Registry.Providers = []provider.Provider{fakeprovider.Network{With: flannelTraits(), Objects: agents(60)}, NotBuilt(operatorv1.NetworkTypeKuryr)}
	in := Input{Desired: spec(), Applied: spec(mtu(1500)), Cluster: cluster()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reconcile(b.Context(), p, in); err != nil {
			b.Fatal(err)
		}
	}
}
