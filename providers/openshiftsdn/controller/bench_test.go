package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/api/crds"
	sdnv1 "github.com/cluster-network-operator/cno/api/sdn/v1"
	"github.com/cluster-network-operator/cno/internal/agent"
	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/agentconfig"
	"github.com/cluster-network-operator/cno/providers/openshiftsdn/controller"
)

// benchWriters is how many objects are written at a time, by the controller and by the client that it is compared with.
const benchWriters = 16

// systemNamespaces are those that the API server creates: default, kube-node-lease, kube-public and kube-system.
const systemNamespaces = 4

// BenchmarkController compares the controller on a cluster without HostSubnets and NetNamespaces with a client that only writes as many,
// and restarts it: it writes nothing then.
func BenchmarkController(b *testing.B) {
	for _, size := range []struct{ nodes, namespaces int }{{500, 1000}, {5000, 10000}} {
		b.Run(fmt.Sprintf("%d nodes, %d namespaces", size.nodes, size.namespaces), func(b *testing.B) { benchmark(b, size.nodes, size.namespaces) })
	}
}

func benchmark(b *testing.B, nodes, namespaces int) {
	sdn, err := crds.OpenShiftSDN()
	if err != nil {
		b.Fatal(err)
	}
	server := apitest.Start(b, apitest.Options{WithoutProjectCRDs: true, CRDs: sdn})
	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		b.Fatal(err)
	}
	if err := sdnv1.AddToScheme(known); err != nil {
		b.Fatal(err)
	}
	api, err := client.New(server.Config, client.Options{Scheme: known})
	if err != nil {
		b.Fatal(err)
	}
	write := func(n int, object func(i int) client.Object) {
		b.Helper()
		var all sync.WaitGroup
		next := make(chan int)
		for range benchWriters {
			all.Go(func() {
				for i := range next {
					if err := api.Create(b.Context(), object(i)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		all.Wait()
	}
	address := func(i int) string { return netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}).String() }
	write(nodes, func(i int) client.Object {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address(i)}}
		return n
	})
	write(namespaces, func(i int) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}}
	})
	started := time.Now()
	write(nodes, func(i int) client.Object {
		return &sdnv1.HostSubnet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}, Host: fmt.Sprint("n", i), HostIP: address(i),
			Subnet: fmt.Sprintf("10.%d.%d.0/24", i>>8, i&255)}
	})
	write(namespaces, func(i int) client.Object {
		return &sdnv1.NetNamespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}, NetName: fmt.Sprint("s", i), NetID: uint32(10 + i)}
	})
	bare := time.Since(started)
	for _, o := range []client.Object{&sdnv1.HostSubnet{}, &sdnv1.NetNamespace{}} {
		if err := api.DeleteAllOf(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	network := agentconfig.Default()
	network.MTU, network.ServiceNetwork = 1450, netip.MustParsePrefix("192.168.0.0/16")
	network.ClusterNetworks = []agentconfig.ClusterNetwork{{CIDR: netip.MustParsePrefix("10.0.0.0/8"), HostPrefix: 24}}
	b.ResetTimer()
	for range b.N {
		w := &counter{}
		c := controller.Config{Kube: rest.CopyConfig(server.Config), Node: "bench", LeaseNamespace: "default", Network: network,
			Log: slog.New(slog.NewTextHandler(output(), nil)), Wrap: w.wrap}
		started := time.Now()
		stop := run(b, c)
		complete(b, api, nodes, namespaces)
		empty := time.Since(started)
		stop()
		w.count()
		stop = run(b, c)
		// A namespace that comes later shows that the new instance has compared everything.
		if err := api.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}}); err != nil {
			b.Fatal(err)
		}
		complete(b, api, nodes, namespaces+1)
		stop()
		b.ReportMetric(empty.Seconds(), "s-from-empty")
		b.ReportMetric(bare.Seconds(), "s-bare-client")
		b.ReportMetric(empty.Seconds()/bare.Seconds(), "ratio")
		b.ReportMetric(float64(w.count()-2), "writes-of-a-restart") // beside the two for the late namespace
	}
}

func run(b *testing.B, c controller.Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	c.Metrics = agent.NewMetrics("sdn_controller", "bench")
	go func() { done <- controller.Run(ctx, c) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
}

// complete waits until there are as many objects as nodes and namespaces. It reads one object and the number of the remaining ones: whole lists would keep the API
// server busy that the controller writes to.
func complete(b *testing.B, api client.Client, nodes, namespaces int) {
	b.Helper()
	count := func(kind string) int {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(sdnv1.GroupVersion.WithKind(kind))
		if err := api.List(b.Context(), &all, client.Limit(1)); err != nil {
			b.Fatal(err)
		}
		return len(all.Items) + int(ptr.Deref(all.GetRemainingItemCount(), 0))
	}
	namespaces += systemNamespaces
	for count("HostSubnetList") < nodes || count("NetNamespaceList") < namespaces {
		time.Sleep(100 * time.Millisecond)
	}
}

// counter counts writes.
type counter struct {
	mu sync.Mutex
	n  int
}

// count returns the writes since the last call.
func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

func (c *counter) wrap(next client.Client) client.Client { return counting{next, c} }

type counting struct {
	client.Client
	c *counter
}

func (c counting) add() {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	c.c.n++
}

func (c counting) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	c.add()
	return c.Client.Create(ctx, o, opts...)
}

func (c counting) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	c.add()
	return c.Client.Update(ctx, o, opts...)
}

func (c counting) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	c.add()
	return c.Client.Delete(ctx, o, opts...)
}
