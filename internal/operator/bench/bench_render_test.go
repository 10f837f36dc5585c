package bench

import (
	"testing"

	"github.com/cluster-network-operator/cno/internal/facts"
	"github.com/cluster-network-operator/cno/internal/manifest"
	"github.com/cluster-network-operator/cno/internal/networks"
	"github.com/cluster-network-operator/cno/internal/pipeline"
)

// BenchmarkRenderEverything runs all stages for the real networks. It does so in this process, which is what
// the operator does in its own: the stages are functions, and what they read comes from memory.
func BenchmarkRenderEverything(b *testing.B) {
	c := cluster{etcd: "http://192.0.2.10:2379"}
	network := c.newNetwork()
	p := pipeline.Pipeline{Registry: networks.Registry()}
	known := facts.Cluster{Platform: "None", ReleaseVersion: "v0.1.0-bench", HostMTU: 1500, APIServer: facts.HostPort{Host: "192.0.2.10", Port: 6443},
		Images: facts.Images{"NETWORK_OPERATOR_IMAGE": "o:v1", "FLANNEL_IMAGE": "f:v1", "ETCD_IMAGE": "e:v1", "KUBE_PROXY_IMAGE": "k:v1"}}
	first, err := p.Run(b.Context(), pipeline.Input{Desired: &network.Spec, Cluster: known}, pipeline.Render)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		choice, err := p.Choose(b.Context(), pipeline.Input{Desired: &network.Spec, Applied: first.Spec, Cluster: known})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := choice.Render(b.Context(), known); err != nil {
			b.Fatal(err)
		}
	}
	objects, bytes := 0, 0
	for _, out := range first.Outputs {
		content, err := manifest.Encode(out.Output.Objects)
		if err != nil {
			b.Fatal(err)
		}
		objects, bytes = objects+len(out.Output.Objects), bytes+len(content)
	}
	b.ReportMetric(milliseconds(b.Elapsed())/float64(b.N), "ms")
	b.ReportMetric(float64(objects), "objects")
	b.ReportMetric(float64(bytes), "bytes")
	b.ReportMetric(10, "goal-ms")
	b.ReportMetric(peer.render, "peer-ms")
}
