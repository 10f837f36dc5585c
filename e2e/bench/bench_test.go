package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/e2e/kit"
	"github.com/cluster-network-operator/cno/internal/multinet/wire"
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

// cniPods is the number of pods whose networks are added and deleted.
const cniPods = 100

// BenchmarkCNI measures additions and deletions of pod networks by the node's configuration, beside the plugins of flannel called directly in
// the same run.
func BenchmarkCNI(b *testing.B) {
	file := podsFile{Pods: waitingPods(b, lab.Namespace(b), cniPods, func(int) (string, []map[string]any) { return "", nil })}.write(b, "netbench-pods.json")
	warmUp(b, file)
	for _, parallel := range []int{1, 10, cniPods} {
		b.Run(fmt.Sprintf("parallel=%d", parallel), func(b *testing.B) {
			var r cniResult
			for b.Loop() {
				if err := netbench(b.Context(), "worker-0", &r, "cni", "--pods="+file, chainPlugins(), fmt.Sprintf("--parallel=%d", parallel)); err != nil {
					b.Fatal(err)
				}
			}
			r.report(b)
		})
	}
}

// warmUp adds and deletes the networks of pods once without a figure, since a network may still assign addresses to new pods.
func warmUp(b *testing.B, file string) {
	b.Helper()
	if err := netbench(b.Context(), "worker-0", nil, "cni", "--pods="+file, chainPlugins(), "--parallel=10"); err != nil {
		b.Fatal(err)
	}
}

// chainPlugins returns the flag with the standard plugins that the floor calls: those of the lab, which are the same with any network.
func chainPlugins() string { return "--chain=" + filepath.Join(lab.Root, "_output/lab/bin") }

// waitingPods creates pods on worker-0 that wait for a ConfigMap that does not exist, and returns them. Networks know them like other pods, but the
// kubelet does not attach them. networks returns the annotation of the pod with a number, which requests its further networks, and the values of
// capabilities with which the plugins of each are invoked.
func waitingPods(b *testing.B, ns string, count int, networks func(i int) (annotation string, capabilities []map[string]any)) []podsFileEntry {
	b.Helper()
	var pods []podsFileEntry
	for i := range count {
		pod := kit.ServerPod(ns, fmt.Sprintf("p%d", i), "worker-0", nil)
		annotation, capabilities := networks(i)
		if annotation != "" {
			pod.Annotations = map[string]string{wire.AnnotationNetworks: annotation}
		}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "missing", MountPath: "/missing"}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "missing", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "missing"}},
		}}}
		if err := lab.Client.Create(b.Context(), pod); err != nil {
			b.Fatal(err)
		}
		pods = append(pods, podsFileEntry{ns, pod.Name, string(pod.UID), annotation, capabilities})
	}
	// The pods must not remain on the node during the next benchmark.
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := lab.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(ns), client.GracePeriodSeconds(0)); err != nil {
			b.Error(err)
		}
	})
	return pods
}

// podsFile describes pods for netbench.
type podsFile struct {
	Pods []podsFileEntry
	// Lists, Kubeconfig and Server are those of pods with further networks.
	Lists              []json.RawMessage
	Kubeconfig, Server string
}

type podsFileEntry struct {
	Namespace, Name, UID, Annotation string
	Runtime                          []map[string]any
}

// write writes the file, until the benchmark ends, and returns its path.
func (p podsFile) write(b *testing.B, name string) string {
	b.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(lab.Root, "_output", name)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.Remove(file) })
	return file
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

// path is two ends of traffic: a server on worker-1 and a client on worker-0, in the pods with the addresses serverIn and clientIn, or in the
// nodes if these are empty.
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
	// Ending the command ends the server in the node with it; it says so with an error, which is expected.
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

// BenchmarkPodToPodAcrossNodes compares two pods on two nodes with the two nodes themselves, which are the underlay, and with a bare veth pair,
// taking turns. The goal is 95 % of the throughput of the nodes and a round trip within 15 %.
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
	ns, pod := lab.Namespace(b), map[string]string{}
	for _, n := range []string{"worker-0", "worker-1"} {
		p, err := lab.RunPod(b.Context(), kit.ServerPod(ns, "end-"+n, n, nil))
		if err != nil {
			b.Fatal(err)
		}
		pod[n] = p.Status.PodIP
	}
	port := 15000
	for _, at := range placements() {
		b.Run(at.name, func(b *testing.B) {
			const rounds = 3
			var pods, nodes, floor traffic
			for b.Loop() {
				pods, nodes, floor = traffic{}, traffic{}, traffic{}
				for range rounds {
					port += 2
					under, err := path{address: net.JoinHostPort(host, strconv.Itoa(port)), at: at}.measure(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					over, err := path{serverIn: pod["worker-1"], clientIn: pod["worker-0"], at: at,
						address: net.JoinHostPort(pod["worker-1"], strconv.Itoa(port+1))}.measure(b.Context())
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
