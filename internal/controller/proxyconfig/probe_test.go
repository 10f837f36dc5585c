package proxyconfig

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
)

// newFullListener returns the address of a socket that listens, accepts nothing and has no room for another connection:
// the kernel drops all further packets, as a firewall does.
func newFullListener(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for {
		connection, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { _ = connection.Close() })
	}
}

// startProber runs a prober with short timeouts.
func startProber(t *testing.T) *prober {
	t.Helper()
	p := &prober{timeout: time.Second, pause: 10 * time.Millisecond, tries: 3, now: time.Now, changed: func() {}, count: func(bool) {}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return p
}

func one(endpoint, proxy, roots string) *probeRound {
	return &probeRound{endpoints: []endpointOf{{at: field.NewPath("spec", "readinessEndpoints").Index(0), url: endpoint, proxy: proxy}}, roots: roots}
}

// awaitResults waits for the results of a round.
func awaitResults(t *testing.T, p *prober, r *probeRound) (results []probeResult) {
	t.Helper()
	eventually.Is(t, "the round ends", func() bool {
		var done bool
		results, done = p.ask(r)
		return done
	})
	return results
}

func TestEndpointsAreProbedThroughRealProxies(t *testing.T) {
	proxy, secured, private := newForwarder(t, "", false), newForwarder(t, "", true), newForwarder(t, "hunter2", false)
	plain, encrypted := site(t, http.StatusOK, false), site(t, http.StatusNoContent, true)
	moved, broken := site(t, http.StatusFound, false), site(t, http.StatusInternalServerError, false)
	roots := rootsOfServer(encrypted) + rootsOfServer(secured.Server)
	withPassword := func(password string) string {
		return "http://user:" + password + "@" + private.Listener.Addr().String()
	}
	gone, hole, closed := full(t), blackHole(t), closedPort(t)
	for _, row := range []struct {
		why, endpoint, proxy, roots, want string
	}{
		{"http", plain.URL, proxy.URL, "", ""},
		{"https, in a tunnel", encrypted.URL, proxy.URL, roots, ""},
		{"https, in a tunnel through TLS", encrypted.URL, secured.URL, roots, ""},
		{"being sent elsewhere is an answer", moved.URL, proxy.URL, "", ""},
		{"with a password", plain.URL, withPassword("hunter2"), "", ""},
		{"a tunnel with a password", encrypted.URL, withPassword("hunter2"), roots, ""},
		{"an error is none", broken.URL, proxy.URL, "", "the endpoint returned 500 Internal Server Error (3 tries)"},
		{"a wrong password", plain.URL, withPassword("swordfish"), "", "via http://user:xxxxx@" + private.Listener.Addr().String() + " failed: the proxy requires valid credentials (407)"},
		{"a wrong password for a tunnel", encrypted.URL, withPassword("swordfish"), roots, "the proxy requires valid credentials (407)"},
		{"an untrusted endpoint", encrypted.URL, proxy.URL, rootsOfServer(secured.Server)[:0], "add that CA to the ConfigMap that spec.trustedCA names"},
		{"a proxy that drops packets", plain.URL, gone, "", "probe of " + plain.URL + " via " + gone + " failed: connect timeout 1 s (3 tries)"},
		{"a proxy that never answers", plain.URL, hole, "", "no answer within 1 s (3 tries)"},
		{"a proxy that never makes a tunnel", encrypted.URL, hole, roots, "no answer within 1 s (3 tries)"},
		{"an endpoint behind the proxy that never answers", hole, proxy.URL, "", "no answer within 1 s (3 tries)"},
		{"no proxy", plain.URL, closed, "", "connection refused"},
		{"no endpoint", closed, proxy.URL, "", "the endpoint returned 502 Bad Gateway"},
	} {
		t.Run(row.why, func(t *testing.T) {
			results := awaitResults(t, startProber(t), one(row.endpoint, row.proxy, row.roots))
			got := results[0].problem
			if (got == "") != (row.want == "") || !strings.Contains(got, row.want) || strings.Contains(got, "swordfish") {
				t.Errorf("got %q, want %q", got, row.want)
			}
			if results[0].at != "spec.readinessEndpoints[0]" {
				t.Errorf("the field is %q", results[0].at)
			}
		})
	}
}

func TestEndpointGetsThreeTries(t *testing.T) {
	proxy, endpoint := newForwarder(t, "", false), site(t, http.StatusOK, false)
	proxy.failing.Store(2)
	if results := awaitResults(t, startProber(t), one(endpoint.URL, proxy.URL, "")); results[0].problem != "" || proxy.served.Load() != 3 {
		t.Errorf("after %d tries: %q", proxy.served.Load(), results[0].problem)
	}
}

func TestProbesDoNotBlockCallers(t *testing.T) {
	p := startProber(t)
	eventually.Is(t, "it runs", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.base != nil })
	p.timeout = time.Minute
	begin := time.Now()
	if _, done := p.ask(one("http://192.0.2.1", blackHole(t), "")); done || time.Since(begin) > p.timeout/2 {
		t.Errorf("done %v after %v", done, time.Since(begin))
	}
}

func TestEndpointsAreProbedAtOnceButNotAllOfThem(t *testing.T) {
	var now, most atomic.Int32
	slow := newForwarder(t, "", false)
	slow.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		for n := now.Add(1); ; {
			if have := most.Load(); n <= have || most.CompareAndSwap(have, n) {
				break
			}
		}
		time.Sleep(50 * time.Millisecond)
		now.Add(-1)
	})
	r := &probeRound{}
	for i := range 40 {
		r.endpoints = append(r.endpoints, endpointOf{at: field.NewPath("e").Index(i), url: fmt.Sprintf("http://192.0.2.%d", i), proxy: slow.URL})
	}
	results := awaitResults(t, startProber(t), r)
	if len(results) != 40 || len(failures(results)) > 0 || most.Load() < 2 || most.Load() > probeParallel {
		t.Errorf("%d answers, %v, %d at once", len(results), failures(results), most.Load())
	}
}

func TestNewSpecificationCancelsTheRoundOfTheFirst(t *testing.T) {
	p := startProber(t)
	p.timeout = 30 * time.Second // what is not cancelled lasts longer than the test
	hole := one("http://192.0.2.1", blackHole(t), "")
	eventually.Is(t, "the first round begins", func() bool { p.ask(hole); p.mu.Lock(); defer p.mu.Unlock(); return p.current != nil })
	proxy, endpoint := newForwarder(t, "", false), site(t, http.StatusOK, false)
	if results := awaitResults(t, p, one(endpoint.URL, proxy.URL, "")); results[0].problem != "" {
		t.Errorf("the second round: %q", results[0].problem)
	}
	if results, done := p.ask(nil); len(results) > 0 || !done {
		t.Error("no round has answers")
	}
	ended := make(chan struct{})
	go func() { p.group.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the first round continues")
	}
}

func TestFailedRoundIsRepeatedAndItsResultsKeptUntilThen(t *testing.T) {
	p := startProber(t)
	var offset atomic.Int64
	p.now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	proxy, endpoint := newForwarder(t, "", false), site(t, http.StatusOK, false)
	proxy.failing.Store(3)
	r := one(endpoint.URL, proxy.URL, "")
	if results := awaitResults(t, p, r); results[0].problem == "" {
		t.Fatal("it did not fail")
	}
	p.ask(r)
	if proxy.served.Load() != 3 {
		t.Error("it is probed again at once")
	}
	offset.Store(int64(probeInterval))
	if results, done := p.ask(r); !done || results[0].problem == "" {
		t.Error("the last answers do not stand while it is probed again")
	}
	eventually.Is(t, "it recovers", func() bool { results, _ := p.ask(r); return results[0].problem == "" })
	served := proxy.served.Load()
	offset.Store(int64(10 * probeInterval))
	p.ask(r)
	if proxy.served.Load() != served {
		t.Error("what has passed is probed again")
	}
}
