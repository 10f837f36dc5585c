package doctor

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/apitest"
	"github.com/cluster-network-operator/cno/internal/networks"
)

// BenchmarkFiveThousandNodes collects and archives a cluster of that size, with an agent's pod on each node. It is to take
// 60 s at most.
func BenchmarkFiveThousandNodes(b *testing.B) {
	const count = 5000
	server := apitest.Shared(b)
	ns := server.Namespace(b)
	var group errgroup.Group
	group.SetLimit(32)
	for i := range count {
		group.Go(func() error {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bench-%d", i)}}
			for j := range 20 {
				n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example/image-%d", j)}})
			}
			if err := server.Client.Create(context.Background(), n); err != nil {
				return err
			}
			p := plain(ns, n.Name)
			p.Spec.NodeName = n.Name
			return server.Client.Create(context.Background(), p)
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	c, err := open(server.Config, ns, networks.Registry(), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, err := c.collect(context.Background(), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if n := len(found.objects["nodes."]); n != count {
			b.Fatalf("%d nodes: %v", n, found.missing)
		}
		if err := found.archive(io.Discard, Report{Findings: evaluate(found, ns, time.Now())}); err != nil {
			b.Fatal(err)
		}
	}
}
