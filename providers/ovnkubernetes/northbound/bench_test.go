package northbound_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cluster-network-operator/cno/internal/host/ovsdb"
	"github.com/cluster-network-operator/cno/internal/netpolicy"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/northbound"
	"github.com/cluster-network-operator/cno/providers/ovnkubernetes/ovntest"
)

// large is a cluster of 500 nodes, 5,000 pods in 100 namespaces, 500 Services with 10 endpoints each and 500 policies.
func large() northbound.Input {
	in := northbound.Input{Cluster: northbound.Cluster{Networks: prefixes("10.128.0.0/9")}}
	for n := range 500 {
		node := northbound.Node{Name: fmt.Sprintf("node%d", n), Blocks: prefixes(fmt.Sprintf("10.%d.%d.0/24", 128+n/256, n%256))}
		in.Nodes = append(in.Nodes, node)
		for p := range 10 {
			in.Pods = append(in.Pods, pod(node, fmt.Sprintf("ns%d", (n*10+p)%100), fmt.Sprintf("pod%d-%d", n, p), 1+p, map[string]string{"app": fmt.Sprintf("app%d", p)}))
		}
	}
	for n := range 100 {
		in.Namespaces = append(in.Namespaces, netpolicy.Namespace{Name: fmt.Sprintf("ns%d", n), Labels: map[string]string{"team": fmt.Sprint(n % 10)}})
	}
	for n := range 500 {
		var ends []end
		for e := range 10 {
			p := in.Pods[(n*10+e)%len(in.Pods)]
			ends = append(ends, end{address: p.Addresses[0].String(), node: p.Node})
		}
		in.Services = append(in.Services, service(fmt.Sprintf("service%d", n), "TCP", nil, []string{netip.AddrFrom4([4]byte{172, 30, byte(n / 250), byte(1 + n%250)}).String()}, ends...))
		peer := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app%d", n%10)}}}
		if n%10 == 0 { // of other namespaces
			peer = networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint(n % 7)}}}
		}
		in.Policies = append(in.Policies, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", n%100), Name: fmt.Sprintf("p%d", n)},
			Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{peer},
				Ports: []networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolTCP)}}}}}})
	}
	return in
}

// BenchmarkCluster measures a large cluster: all rows computed and written to an empty database, compared with a database that has them,
// and one pod that is created and deleted. ovn-northd does not run.
func BenchmarkCluster(b *testing.B) {
	w := ovntest.Start(b)
	w.StopNorthd()
	in := large()
	client, err := ovsdb.Dial(b.Context(), w.NorthboundSocket())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	schema, err := client.Schema(b.Context(), northbound.Database)
	if err != nil {
		b.Fatal(err)
	}
	write := func(t ovsdb.Transaction, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		results, err := client.Transact(b.Context(), northbound.Database, t.Operations...)
		if err != nil {
			b.Fatal(err)
		}
		t.Commit(results)
	}
	state, ledger := northbound.NewState(in.Cluster), ovsdb.NewLedger(schema, northbound.Owner)
	state.Set(in)
	state.Changes()
	write(ledger.Replace(state.Rows(), ovsdb.Snapshot{}))
	b.Run("compute", func(b *testing.B) {
		for b.Loop() {
			s := northbound.NewState(in.Cluster)
			s.Set(in)
			s.Changes()
		}
	})
	b.Run("compare", func(b *testing.B) {
		cache := ovsdb.NewCache(northbound.Database, northbound.Tables(), nil)
		reader, err := ovsdb.Dial(b.Context(), w.NorthboundSocket())
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan struct{})
		go func() { _ = cache.Watch(ctx, reader); close(done) }()
		defer func() { cancel(); <-done; _ = reader.Close() }()
		<-cache.Synced()
		for b.Loop() {
			t, err := ledger.Replace(state.Rows(), cache.Snapshot())
			if err != nil || len(t.Operations) > 0 {
				b.Fatal(len(t.Operations), err)
			}
			t.Commit(nil)
		}
	})
	b.Run("pod", func(b *testing.B) {
		one := pod(in.Nodes[7], "ns20", "one", 100, map[string]string{"app": "app3"})
		for b.Loop() { // one that is created and deleted
			state.SetPod(one)
			write(ledger.Change(state.Changes()))
			state.DeletePod(one.ID)
			write(ledger.Change(state.Changes()))
		}
	})
	b.Run("service", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			state.SetService(service("service7", "TCP", nil, []string{"172.30.0.8"}, end{address: fmt.Sprintf("10.128.0.%d", 3+n%200), node: "node0"}))
			write(ledger.Change(state.Changes()))
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			_ = client.Close()
			w.LoseNorthbound()
			if client, err = ovsdb.Dial(b.Context(), w.NorthboundSocket()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			s := northbound.NewState(in.Cluster)
			s.Set(in)
			s.Changes()
			l := ovsdb.NewLedger(schema, northbound.Owner)
			write(l.Replace(s.Rows(), ovsdb.Snapshot{}))
			b.ReportMetric(float64(l.Len()), "rows")
		}
	})
}
