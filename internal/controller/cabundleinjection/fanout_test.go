package cabundleinjection

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// fanOut makes ConfigMaps that ask, in namespaces of two each, and returns how long the loop takes from a change of the
// certificates until all have the new ones. A system's certificates are 146, of 220 kB.
func fanOut(tb testing.TB, configMaps, certificates, rounds int) []time.Duration {
	tb.Helper()
	c := newCluster(tb)
	var system strings.Builder
	for i := range certificates {
		// Only the length of a certificate matters here: those of systems have 1.5 kB in PEM form.
		system.WriteString("# " + strings.Repeat("x", 900) + "\n" + newCA(tb, fmt.Sprint(i)))
	}
	var group errgroup.Group
	group.SetLimit(16)
	ctx := context.Background()
	for i := range configMaps / 2 {
		group.Go(func() error {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "fan-out-"}}
			if err := c.Client.Create(ctx, namespace); err != nil {
				return err
			}
			for _, name := range []string{"a", "b"} {
				if err := c.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name,
					Labels: map[string]string{InjectLabel: "true", "number": fmt.Sprint(i)}}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.unlabel() })
	c.start()
	var took []time.Duration
	for round := range rounds + 1 {
		text := system.String() + newCA(tb, fmt.Sprintf("round %d", round))
		before := c.metric("cluster_network_operator_trusted_ca_writes_total", "injected")
		begin := time.Now()
		c.trust(text)
		eventually.HoldsWithin(tb, 2*time.Minute, "the certificates arrive", func() (string, bool) {
			injected := c.metric("cluster_network_operator_trusted_ca_writes_total", "injected") - before
			return fmt.Sprintf("in %v of %d ConfigMaps", injected, configMaps), injected >= float64(configMaps)
		})
		// The first round is that of the start.
		if round > 0 {
			took = append(took, time.Since(begin))
		}
		tb.Logf("round %d: %d ConfigMaps with %d bytes each in %v", round, configMaps, len(text), time.Since(begin).Round(time.Millisecond))
	}
	c.checkAll(configMaps)
	return took
}

// checkAll looks at what arrived in a few of them, and that no more was written than necessary.
func (c *cluster) checkAll(configMaps int) {
	c.t.Helper()
	list := targets()
	if err := c.Client.List(context.Background(), list, client.MatchingLabelsSelector{Selector: injectSelector()}); err != nil {
		c.t.Fatal(err)
	}
	hashes := map[string]int{}
	for _, m := range list.Items {
		if m.Labels["number"] != "" && m.DeletionTimestamp == nil {
			hashes[m.Annotations[hashAnnotation]]++
		}
	}
	if len(hashes) != 1 {
		c.t.Errorf("there are %v", hashes)
	}
	for _, n := range hashes {
		if n != configMaps {
			c.t.Errorf("%d of %d have the newest", n, configMaps)
		}
	}
}

// unlabel removes the label of ConfigMaps, so that they do not affect another test.
func (c *cluster) unlabel() {
	list := targets()
	if err := c.Client.List(context.Background(), list, client.MatchingLabelsSelector{Selector: injectSelector()}, client.HasLabels{"number"}); err != nil {
		c.t.Error(err)
	}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range list.Items {
		group.Go(func() error { return client.IgnoreNotFound(c.Client.Delete(context.Background(), &list.Items[i])) })
	}
	if err := group.Wait(); err != nil {
		c.t.Error(err)
	}
}

// TestNewCertificatesReachAHundredConfigMapsSoon is the small form of the benchmark, for every run.
func TestNewCertificatesReachAHundredConfigMapsSoon(t *testing.T) {
	for _, d := range fanOut(t, 100, 20, 1) {
		if d > time.Minute {
			t.Errorf("it took %v", d)
		}
	}
}

// BenchmarkFanOut is how long a new CA takes to 1,000 ConfigMaps in 500 namespaces, through a real API server with a real
// etcd on the same machine.
func BenchmarkFanOut(b *testing.B) {
	for b.Loop() {
		var total time.Duration
		took := fanOut(b, 1000, 146, 3)
		for _, d := range took {
			total += d
		}
		b.ReportMetric(total.Seconds()/float64(len(took)), "s/CA")
	}
}

// TestMemoryOfThousandsOfConfigMapsIsBounded holds that what is kept does not grow with the certificates.
func TestMemoryOfThousandsOfConfigMapsIsBounded(t *testing.T) {
	const n = 5000
	fields := entry(string(fieldManager), metav1.ManagedFieldsOperationApply, all)
	kept := make([]any, 0, n)
	size := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := size()
	for i := range n {
		m := target(types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i), Name: "trusted-ca"})
		m.UID, m.ResourceVersion = types.UID(fmt.Sprintf("%036d", i)), fmt.Sprint(i)
		m.Labels = map[string]string{InjectLabel: "true", markLabel: marked, "other": strings.Repeat("x", 60)}
		m.Annotations = map[string]string{hashAnnotation: "0123456789abcdef", "last-applied": strings.Repeat("x", 10_000)}
		m.ManagedFields = []metav1.ManagedFieldsEntry{fields}
		o, err := trim(m)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, o)
	}
	each := (size() - before) / n
	runtime.KeepAlive(kept)
	t.Logf("%d bytes for each ConfigMap", each)
	if each > 2000 {
		t.Errorf("%d bytes are kept of each ConfigMap", each)
	}
}
