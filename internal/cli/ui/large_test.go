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

	"github.com/cluster-network-operator/cno/internal/testing/browser"
)

// BenchmarkPagesOfFiveThousandNodes serves a cluster of that size: start-ms is from the start of cno ui until it prints its address, first-ms
// from the request to the end of the first document of the page Nodes, with everything that a browser asks for before. In a browser, paint-ms is
// from the begin of the navigation to the first paint with content, map-ms until the map has a mark for each node, and filter-ms from a filter
// until it is painted. An operation is a change of a node until its one message arrives, message-B the size of that.
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
	begin := time.Now()
	address, token := serve(b, "--kubeconfig", w.server.Kubeconfig)
	started := time.Since(begin)
	inBrowser := paint(b, address, token, count)
	begin = time.Now()
	reader := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	entered := request(b, reader, address+"/nodes?token="+token, nil)
	cookie := entered.Cookies()[0]
	for _, path := range []string{"/nodes", "/assets/app.js", "/assets/style.css", "/api/v1/session"} {
		_ = request(b, reader, address+path, cookie).Body.Close()
	}
	stream := bufio.NewReaderSize(request(b, reader, address+"/api/v1/events?page=nodes", cookie).Body, 4<<20)
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
	b.ReportMetric(float64(started.Microseconds())/1000, "start-ms")
	for unit, value := range inBrowser {
		b.ReportMetric(value, unit)
	}
	b.ReportMetric(float64(took.Microseconds())/1000, "first-ms")
	b.ReportMetric(float64(len(first)), "first-B")
	b.ReportMetric(float64(size), "message-B")
}

// paint opens the page Nodes in a browser, and returns the times by their units.
func paint(b *testing.B, address, token string, count int) map[string]float64 {
	page := browser.Start(b)
	page.Look(1280, 900, false)
	page.Open(address + "/?token=" + token)
	page.Wait("the overview, which gives the browser its session", pages[0].ready)
	page.Open(address + "/nodes")
	times := map[string]float64{}
	for _, one := range []struct{ unit, expression string }{
		{"map-ms", fmt.Sprintf(`new Promise(done => { const look = () => document.querySelectorAll(".map rect").length === %d ? done(performance.now()) : requestAnimationFrame(look); look(); })`, count)},
		{"paint-ms", `performance.getEntriesByName("first-contentful-paint")[0].startTime`},
		{"filter-ms", `new Promise(done => {
			const begin = performance.now(), input = document.getElementById("filter");
			input.value = "large-123";
			input.dispatchEvent(new Event("input"));
			requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
		})`},
	} {
		var took float64
		if err := page.Eval(one.expression, &took); err != nil {
			b.Fatal(err)
		}
		times[one.unit] = took
	}
	var left int
	// 123 and 1230 to 1239.
	if err := page.Eval(`document.querySelectorAll(".map rect:not(.dim)").length`, &left); err != nil || left != 11 {
		b.Fatalf("%v: the filter leaves %d marks, want 11", err, left)
	}
	return times
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
