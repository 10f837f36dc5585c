package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
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

func BenchmarkCNI(b *testing.B) {
	for _, parallel := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
			var r struct{ Add, Del latency }
			for b.Loop() {
				if err := netbench(b.Context(), "worker-0", &r, "cni", "--count=100", fmt.Sprintf("--parallel=%d", parallel)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(r.Add.P50, "add-p50-ms")
			b.ReportMetric(r.Add.P99, "add-p99-ms")
			b.ReportMetric(r.Del.P50, "del-p50-ms")
			b.ReportMetric(r.Del.P99, "del-p99-ms")
		})
	}
}

type traffic struct {
	Gbps     float64 `json:"gbps"`
	RTTP50us float64 `json:"rttP50us"`
}

// path is two ends of traffic: a server on worker-1 and a client on worker-0, in namespaces or in the nodes.
type path struct{ serverIn, clientIn, address string }

// measure starts the server of a path, asks the client, and ends the server.
func (p path) measure(ctx context.Context) (traffic, error) {
	var t traffic
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- netbench(ctx, "worker-1", nil, "serve", p.address, "--in="+p.serverIn) }()
	err := kit.Poll(ctx, 20*time.Second, func(ctx context.Context) error {
		return netbench(ctx, "worker-0", &t, "client", p.address, "--in="+p.clientIn)
	})
	// Ending the command ends the server in the node with it; it says so with an error, which is expected.
	cancel()
	<-done
	return t, err
}

// BenchmarkPodToPodAcrossNodes compares two pods on two nodes with the two nodes themselves, taking turns. The goal is
// 95 % of the throughput and a round trip within 15 %.
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
	const rounds = 5
	var pods, nodes traffic
	for b.Loop() {
		pods, nodes = traffic{}, traffic{}
		for round := range rounds {
			under, err := path{address: fmt.Sprintf("%s:%d", host, 15001+2*round)}.measure(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			over, err := path{serverIn: "netbench-end", clientIn: "netbench-end",
				address: fmt.Sprintf("%s:%d", pod["worker-1"], 15002+2*round)}.measure(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			nodes.Gbps, nodes.RTTP50us = nodes.Gbps+under.Gbps/rounds, nodes.RTTP50us+under.RTTP50us/rounds
			pods.Gbps, pods.RTTP50us = pods.Gbps+over.Gbps/rounds, pods.RTTP50us+over.RTTP50us/rounds
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(pods.Gbps, "pod-Gbit/s")
	b.ReportMetric(nodes.Gbps, "node-Gbit/s")
	b.ReportMetric(100*pods.Gbps/nodes.Gbps, "%throughput")
	b.ReportMetric(pods.RTTP50us, "pod-rtt-us")
	b.ReportMetric(nodes.RTTP50us, "node-rtt-us")
	b.ReportMetric(100*pods.RTTP50us/nodes.RTTP50us, "%rtt")
}
