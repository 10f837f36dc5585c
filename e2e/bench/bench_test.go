package bench

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/perf"
)

func BenchmarkFromNetworkToAvailable(b *testing.B) {
	if available == 0 {
		b.Fatal("only measured when the lab is brought up, without -reuse")
	}
	for b.Loop() {
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(available.Seconds(), "s")
}

type latency struct{ P50, P99 float64 }

// cniResult is what netbench prints of additions and deletions.
type cniResult struct{ Add, Del, FloorAdd, FloorDel latency }

func (r cniResult) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.Add.P50, "add-p50-ms")
	b.ReportMetric(r.Add.P99, "add-p99-ms")
	b.ReportMetric(r.Del.P50, "del-p50-ms")
	b.ReportMetric(r.Del.P99, "del-p99-ms")
	b.ReportMetric(r.FloorAdd.P50, "floor-add-p50-ms")
	b.ReportMetric(r.FloorAdd.P99, "floor-add-p99-ms")
	b.ReportMetric(r.FloorDel.P50, "floor-del-p50-ms")
	b.ReportMetric(r.Add.P50/r.FloorAdd.P50, "add/floor")
	b.ReportMetric(r.Del.P50/r.FloorDel.P50, "del/floor")
}

// BenchmarkCNI measures additions and deletions of pod networks by the node's configuration, next to the same plugins called
// by hand in the same run.
func BenchmarkCNI(b *testing.B) {
	for _, parallel := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
			var r cniResult
			for b.Loop() {
				if err := netbench(b.Context(), "worker-0", &r, "cni", "--count=100", fmt.Sprintf("--parallel=%d", parallel)); err != nil {
					b.Fatal(err)
				}
			}
			r.report(b)
		})
	}
}

// traffic is what netbench prints of a path.
type traffic struct{ perf.Result }

// placement is where the two ends of traffic run. The scheduler's own choice changes a round trip by more than a factor of
// two, and makes another one for pods than for nodes; therefore each end is pinned.
type placement struct {
	name                 string
	serverCPU, clientCPU int
}

// placements are both ends on one CPU, and on two where the machine has them.
func placements() []placement {
	all := []placement{{"one-CPU", 0, 0}}
	if runtime.NumCPU() > 1 {
		all = append(all, placement{"two-CPUs", 1, 0})
	}
	return all
}

// path is two ends of traffic: a server on worker-1 and a client on worker-0, in namespaces or in the nodes.
type path struct {
	serverIn, clientIn, address string
	at                          placement
}

// measure starts the server of a path, asks the client, and ends the server.
func (p path) measure(ctx context.Context) (traffic, error) {
	var t traffic
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- netbench(ctx, "worker-1", nil, "serve", p.address, "--in="+p.serverIn, fmt.Sprintf("--cpu=%d", p.at.serverCPU))
	}()
	err := kit.Poll(ctx, time.Minute, func(ctx context.Context) error {
		return netbench(ctx, "worker-0", &t, "client", p.address, "--in="+p.clientIn, fmt.Sprintf("--cpu=%d", p.at.clientCPU))
	})
	// Ending the command ends the server in the node with it; it returns an error for that, which is expected.
	cancel()
	<-done
	return t, err
}

// bare measures between two namespaces of worker-0 with a veth pair and nothing else.
func bare(ctx context.Context, at placement) (traffic, error) {
	var t traffic
	err := netbench(ctx, "worker-0", &t, "veth", fmt.Sprintf("--server-cpu=%d", at.serverCPU), fmt.Sprintf("--client-cpu=%d", at.clientCPU))
	return t, err
}

// mean adds a share of a measurement.
func (t *traffic) mean(other traffic, rounds int) {
	t.Gbps += other.Gbps / float64(rounds)
	t.RTTp50 += other.RTTp50 / float64(rounds)
	t.Connections += other.Connections / float64(rounds)
}

// BenchmarkPodToPodAcrossNodes compares two pods on two nodes with the two nodes themselves, and with a bare veth pair, taking
// turns. The goal is 95 % of the throughput of the nodes and a round trip within 15 %.
func BenchmarkPodToPodAcrossNodes(b *testing.B) {
	node := &corev1.Node{}
	if err := lab.Client.Get(b.Context(), client.ObjectKey{Name: "worker-1"}, node); err != nil {
		b.Fatal(err)
	}
	host := ""
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && host == "" {
			host = a.Address
		}
	}
	pod := map[string]string{}
	for _, n := range []string{"worker-0", "worker-1"} {
		var a struct{ Address string }
		if err := netbench(b.Context(), n, &a, "attach", "netbench-end"); err != nil {
			b.Fatal(err)
		}
		defer func() { _ = netbench(context.Background(), n, nil, "detach", "netbench-end") }()
		pod[n] = a.Address
	}
	port := 15000
	for _, at := range placements() {
		b.Run(at.name, func(b *testing.B) {
			const rounds = 5
			var pods, nodes, floor traffic
			for b.Loop() {
				pods, nodes, floor = traffic{}, traffic{}, traffic{}
				for range rounds {
					port += 2
					under, err := path{address: fmt.Sprintf("%s:%d", host, port), at: at}.measure(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					over, err := path{serverIn: "netbench-end", clientIn: "netbench-end", at: at,
						address: fmt.Sprintf("%s:%d", pod["worker-1"], port+1)}.measure(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					veth, err := bare(b.Context(), at)
					if err != nil {
						b.Fatal(err)
					}
					nodes.mean(under, rounds)
					pods.mean(over, rounds)
					floor.mean(veth, rounds)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(pods.Gbps, "pod-Gbit/s")
			b.ReportMetric(nodes.Gbps, "node-Gbit/s")
			b.ReportMetric(floor.Gbps, "veth-Gbit/s")
			b.ReportMetric(100*pods.Gbps/nodes.Gbps, "%throughput")
			b.ReportMetric(pods.RTTp50, "pod-rtt-us")
			b.ReportMetric(nodes.RTTp50, "node-rtt-us")
			b.ReportMetric(floor.RTTp50, "veth-rtt-us")
			b.ReportMetric(100*pods.RTTp50/nodes.RTTp50, "%rtt")
			b.ReportMetric(pods.Connections, "pod-connections/s")
			b.ReportMetric(nodes.Connections, "node-connections/s")
		})
	}
}
