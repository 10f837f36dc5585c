package ui

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BenchmarkPagesOfFiveThousandNodes serves a cluster of that size: first-ms is from the request to the end of the first document of the page Nodes,
// with everything that a browser asks for before; an operation is a change of a node until its one message arrives, message-B the size of that.
func BenchmarkPagesOfFiveThousandNodes(b *testing.B) {
	w := newWorld(b, 2)
	const count = 5000
	var group errgroup.Group
	group.SetLimit(32)
	for i := range count - len(w.nodes) {
		group.Go(func() error {
			block := fmt.Sprintf("10.%d.%d.0/24", 10+i/256, i%256)
			return w.server.Client.Create(context.Background(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Spec: corev1.NodeSpec{PodCIDR: block, PodCIDRs: []string{block}}})
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.server.Client.DeleteAllOf(context.Background(), &corev1.Node{}) })
	address, token := serve(b, "--kubeconfig", w.server.Kubeconfig)
	begin := time.Now()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	entered := request(b, browser, address+"/nodes?token="+token, nil)
	cookie := entered.Cookies()[0]
	for _, path := range []string{"/nodes", "/assets/app.js", "/assets/style.css", "/api/v1/session"} {
		_ = request(b, browser, address+path, cookie).Body.Close()
	}
	stream := bufio.NewReaderSize(request(b, browser, address+"/api/v1/events?page=nodes", cookie).Body, 4<<20)
	first := message(b, stream)
	took, unschedulable, size := time.Since(begin), false, 0
	for b.Loop() {
		unschedulable = !unschedulable
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, unschedulable))
		if err := w.server.Client.Patch(b.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}, patch); err != nil {
			b.Fatal(err)
		}
		text := message(b, stream)
		if !strings.Contains(text, "event: changes") || strings.Count(text, `"name"`) != 1 {
			b.Fatalf("a change of one node is %.200s", text)
		}
		size = len(text)
	}
	// Figures that are reported before the loop are discarded.
	b.ReportMetric(float64(took.Microseconds())/1000, "first-ms")
	b.ReportMetric(float64(len(first)), "first-B")
	b.ReportMetric(float64(size), "message-B")
}

func request(tb testing.TB, c *http.Client, address string, cookie *http.Cookie) *http.Response {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		tb.Fatal(err)
	}
	if cookie != nil {
		r.AddCookie(cookie)
	}
	answer, err := c.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode >= 400 {
		tb.Fatalf("%s: %s", address, answer.Status)
	}
	return answer
}

// message is the next message of a stream.
func message(tb testing.TB, stream *bufio.Reader) string {
	tb.Helper()
	var text strings.Builder
	for {
		line, err := stream.ReadString('\n')
		if err != nil {
			tb.Fatal(err)
		}
		if text.WriteString(line); line == "\n" && strings.HasPrefix(text.String(), "event") {
			return text.String()
		} else if line == "\n" {
			text.Reset() // only to keep the stream alive
		}
	}
}
