package signer

import (
	"fmt"
	randv2 "math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/cluster-network-operator/cno/internal/certs"
)

// TestFloodOfHostileRequestsGetsNoCertificateAndDelaysNoNode sends more than a thousand hostile requests at once with those of honest nodes
// among them.
func TestFloodOfHostileRequestsGetsNoCertificateAndDelaysNoNode(t *testing.T) {
	const hostiles, nodes = 1300, 50
	w := newCluster(t)
	ca := newCA(t)
	w.setCA(ca.Pair())
	for i := range nodes {
		w.node(nodeName(i), fmt.Sprintf("192.0.2.%d", i+1))
	}
	w.start()
	before := len(w.Requests(t))
	key := newKey(t)
	var mu sync.Mutex
	names, honest, refused := map[string]string{}, map[string]string{}, 0
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() {
			for i := writer; i < hostiles; i += 8 {
				if i < nodes {
					node := nodeName(i)
					own := of(good(t), node)
					own.Spec.Request = encode(t, named(node), key)
					stored, err := w.request(own)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					honest[stored.Name] = node
					mu.Unlock()
				}
				csr, how := newHostile(t, randv2.New(randv2.NewPCG(uint64(i), 11)), key, nodeName(i%nodes))
				if strings.TrimSpace(csr.Spec.Username) != csr.Spec.Username || strings.TrimSpace(strings.Join(csr.Spec.Groups, "")) != strings.Join(csr.Spec.Groups, "") {
					continue // HTTP removes what is hostile in it
				}
				stored, err := w.request(csr)
				mu.Lock()
				if err == nil {
					names[stored.Name] = how
				} else {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	var all certificatesv1.CertificateSigningRequestList
	w.await(60*time.Second, "all are answered", func() bool {
		if err := w.Client.List(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		for i := range all.Items {
			if !Finished(&all.Items[i]) {
				return false
			}
		}
		return len(all.Items) == len(names)+len(honest)
	})
	reasons := map[string]int{}
	for i := range all.Items {
		csr := &all.Items[i]
		if node, ok := honest[csr.Name]; ok {
			harmless(t, csr.Status.Certificate, Node{Name: node, Addresses: []netip.Addr{}}, ca)
			continue
		}
		reason := condition(csr, certificatesv1.CertificateDenied).Reason
		if len(csr.Status.Certificate) > 0 || reason == "" || has(csr, certificatesv1.CertificateApproved) {
			t.Errorf("%s: %+v", names[csr.Name], csr.Status.Conditions)
		}
		reasons[reason]++
	}
	t.Logf("%d hostile requests were denied (%v), %d refused by the API server, %d honest ones signed", len(names), reasons, refused, len(honest))
	if len(names) < 1000 || len(reasons) < 8 || len(honest) != nodes {
		t.Errorf("%d hostile requests and %d honest ones came in", len(names), len(honest))
	}
	if n := listsOfNodes(w, t, before); n > 0 {
		t.Errorf("nodes were listed %d times", n)
	}
}

// listsOfNodes counts the requests for all nodes, after the first ones, in which caches are filled.
func listsOfNodes(w *cluster, tb testing.TB, after int) int {
	n := 0
	for _, r := range w.Requests(tb)[after:] {
		if r.Verb == "list" && strings.HasPrefix(r.URI, "/api/v1/nodes") {
			n++
		}
	}
	return n
}

// BenchmarkFiveThousandNodes measures how long it takes until each of 5,000 nodes has its certificate, from the first request on.
// Eight writers make the requests while the loop signs.
func BenchmarkFiveThousandNodes(b *testing.B) {
	const nodes = 5000
	for b.Loop() {
		b.StopTimer()
		w := newCluster(b)
		w.setCA(newCA(b).Pair())
		key := newKey(b)
		each := func(do func(i int)) {
			var writers sync.WaitGroup
			for writer := range 8 {
				writers.Go(func() {
					for i := writer; i < nodes; i += 8 {
						do(i)
					}
				})
			}
			writers.Wait()
		}
		requests := make([]*certificatesv1.CertificateSigningRequest, nodes)
		each(func(i int) {
			w.node(nodeName(i), "")
			requests[i] = of(good(b), nodeName(i))
			requests[i].Spec.Request = encode(b, named(nodeName(i)), key)
		})
		c := w.start()
		before := len(w.Requests(b))
		b.StartTimer()
		begin := time.Now()
		each(func(i int) {
			if _, err := w.request(requests[i]); err != nil {
				b.Error(err)
			}
		})
		created := time.Since(begin)
		w.await(5*time.Minute, "all are signed", func() bool { return signedBy(b, c) >= nodes })
		elapsed := time.Since(begin)
		b.StopTimer()
		b.ReportMetric(created.Seconds(), "s/created")
		b.ReportMetric(elapsed.Seconds(), "s/signed")
		b.ReportMetric(float64(nodes)/elapsed.Seconds(), "certificates/s")
		b.ReportMetric(float64(listsOfNodes(w, b, before)), "node-lists")
		var all certificatesv1.CertificateSigningRequestList
		if err := w.Client.List(b.Context(), &all); err != nil {
			b.Fatal(err)
		}
		for i := range all.Items {
			if len(all.Items[i].Status.Certificate) == 0 {
				b.Errorf("%s has no certificate", all.Items[i].Name)
			}
		}
		b.StartTimer()
	}
}

// signedBy returns the number of certificates that the controller has counted.
func signedBy(tb testing.TB, c *Controller) int {
	tb.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.Metrics.requests)
	families, err := registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	n := 0
	for _, f := range families {
		for _, m := range f.Metric {
			n += int(m.GetCounter().GetValue())
		}
	}
	return n
}

// BenchmarkDecide measures one decision: reading the request, checking its signature, and all rules.
func BenchmarkDecide(b *testing.B) {
	csr := good(b)
	for b.Loop() {
		if d := Decide(csr, master(), Nodes(), now); d.Action != Sign {
			b.Fatal(d.Message())
		}
	}
}

// BenchmarkCertify measures one signature.
func BenchmarkCertify(b *testing.B) {
	ca, err := certs.NewCA("ca", now, 1000*time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	d := Decide(good(b), master(), Nodes(), now)
	for b.Loop() {
		if _, err := ca.Certify(d.Template, d.Key); err != nil {
			b.Fatal(err)
		}
	}
}
