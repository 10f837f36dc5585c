package node_test

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/testing/durations"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
)

const (
	// localPods are on the node of the agent in clusters of each size.
	localPods = 10
	// agentStarts is how often the agent is started, and idleTime how long it is observed while nothing changes.
	agentStarts, idleTime = 5, 20 * time.Second
)

// createAll creates objects, 16 at a time.
func (c *cluster) createAll(b *testing.B, n int, object func(i int) client.Object) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			o := object(i)
			status := o.DeepCopyObject()
			if err := c.client.Create(b.Context(), o); err != nil {
				return err
			}
			p, ok := o.(*corev1.Pod)
			if !ok {
				return nil
			}
			p.Status = status.(*corev1.Pod).Status
			return c.client.Status().Update(b.Context(), p)
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// fill creates the objects of a cluster: ten pods a node, five a namespace, and a policy for each namespace that admits those of another one.
func (c *cluster) fill(b *testing.B, nodes, pods, namespaces int) {
	b.Helper()
	c.createAll(b, nodes-1, func(i int) client.Object { return simulated(i) })
	name := func(i int) string { return fmt.Sprint("s", i%namespaces) }
	c.createAll(b, namespaces, func(i int) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i), Labels: map[string]string{"team": fmt.Sprint(i % (namespaces / 10))}}}
	})
	c.createAll(b, namespaces, func(i int) client.Object {
		return &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, NetName: name(i), NetID: uint32(100 + i)}
	})
	c.createAll(b, pods-localPods, func(i int) client.Object {
		node := simulated(i % (nodes - 1))
		address := netip.MustParsePrefix(node.Subnet).Addr().As4()
		address[3] = byte(3 + i/(nodes-1))
		ip := netip.AddrFrom4(address).String()
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name(i), Name: fmt.Sprint("p", i), Labels: map[string]string{"app": fmt.Sprint("app", i/namespaces)}},
			Spec:   corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "c", Image: "registry.test/c"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}}
	})
	c.createAll(b, namespaces, func(i int) client.Object {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: name(i), Name: "admits"}, Spec: networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint(i % (namespaces / 10))}}}},
				Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(8080))}},
			}},
		}}
	})
}

// memory returns a figure of the status of the agent's process in MB.
func (m *machine) memory(b *testing.B, name string) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/" + m.process(program+" run --config "+m.file) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, name+": %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	b.Fatalf("the process has no %s", name)
	return 0
}

// written returns the bytes that the agent has had written to disk.
func (m *machine) written(b *testing.B) float64 {
	b.Helper()
	io, err := os.ReadFile("/proc/" + m.process(program+" run --config "+m.file) + "/io")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(io)) {
		var n float64
		if _, err := fmt.Sscanf(line, "write_bytes: %f", &n); err == nil {
			return n
		}
	}
	b.Fatal("the process has no write_bytes")
	return 0
}

// requests returns the requests of agents, without the beginnings of watches.
func (c *cluster) requests(b *testing.B) []apitest.Request {
	b.Helper()
	return slices.DeleteFunc(c.api.Requests(b), func(r apitest.Request) bool {
		return !strings.HasSuffix(r.User.Username, ":sdn") || r.Verb == "watch"
	})
}

// agentFigures are those of the agent in a cluster of one size.
type agentFigures struct {
	start time.Duration
	// resident and peak are MB. requests and written are those of a while in which nothing changes.
	resident, peak, requests, written float64
}

// agentOf measures the agent of one node in a cluster with a tenth of the objects, or a multiple of that.
func agentOf(b *testing.B, tenths int) (f agentFigures) {
	b.Helper()
	nodes, pods, namespaces := 50*tenths, 500*tenths, 100*tenths
	c := clusterWith(b, agentconfig.NetworkPolicy, apitest.Options{Audit: true})
	c.fill(b, nodes, pods, namespaces)
	m := c.node()
	m.ready()
	for i := range localPods {
		m.pod(fmt.Sprint("s", i), fmt.Sprint("local", i), map[string]string{"app": "app0"})
	}
	var starts []time.Duration
	for range agentStarts {
		m.agent.Stop(b)
		start := time.Now()
		m.startAgent()
		m.ready()
		starts = append(starts, time.Since(start))
	}
	time.Sleep(idleTime) // what the start has begun ends
	requests, written := len(c.requests(b)), m.written(b)
	time.Sleep(idleTime)
	f = agentFigures{durations.Median(starts), m.memory(b, "VmRSS"), m.memory(b, "VmHWM"), float64(len(c.requests(b)) - requests), m.written(b) - written}
	m.agent.Stop(b)
	return f
}

// BenchmarkAgentOf500Nodes measures the agent of one node in a cluster of 500, beside one in a cluster with a tenth of the objects: its start until pods can be
// attached, its memory, and what it does while nothing changes.
func BenchmarkAgentOf500Nodes(b *testing.B) {
	var large, small agentFigures
	for b.Loop() {
		small, large = agentOf(b, 1), agentOf(b, 10)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(large.start)/1e6, "start-ms")
	b.ReportMetric(float64(small.start)/1e6, "tenth-start-ms")
	b.ReportMetric(float64(large.start)/float64(small.start), "start/tenth")
	b.ReportMetric(large.resident, "rss-MB")
	b.ReportMetric(small.resident, "tenth-rss-MB")
	b.ReportMetric(large.resident/small.resident, "rss/tenth")
	b.ReportMetric(large.peak, "peak-MB")
	b.ReportMetric(large.requests, "idle-requests")
	b.ReportMetric(large.written, "idle-bytes")
}
