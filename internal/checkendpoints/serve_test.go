package checkendpoints

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

func TestMetricsAreServedOverTLSUnderTheNamesThatDashboardsUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	good := connectivity.Sample{Endpoint: "api.example.com:443", Resolved: 2 * time.Millisecond, Connected: 3 * time.Millisecond}
	refused, unresolved := good, good
	refused.ConnectErr, unresolved.ResolveErr = errors.New("refused"), errors.New("no such host")
	for _, s := range []connectivity.Sample{good, refused, unresolved} {
		m.count("ns", "c", s)
	}
	var ready atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Server{Registry: registry, Ready: ready.Load, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}.Serve(ctx, listener)
	}()
	base := "https://" + listener.Addr().String()
	body := get(t, base+"/metrics", tls.VersionTLS13, http.StatusOK)
	for _, line := range []string{
		`pod_network_connectivity_check_count{checkName="c",component="ns",dnsResolve="success",targetEndpoint="api.example.com:443",tcpConnect="success"} 1`,
		`pod_network_connectivity_check_count{checkName="c",component="ns",dnsResolve="success",targetEndpoint="api.example.com:443",tcpConnect="failure"} 1`,
		`pod_network_connectivity_check_count{checkName="c",component="ns",dnsResolve="failure",targetEndpoint="api.example.com:443",tcpConnect=""} 1`,
		`pod_network_connectivity_check_tcp_connect_latency_gauge{checkName="c",component="ns",targetEndpoint="api.example.com:443"} 3e+06`,
		`pod_network_connectivity_check_dns_resolve_latency_gauge{checkName="c",component="ns",targetEndpoint="api.example.com:443"} 2e+06`,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("%s is missing in\n%s", line, body)
		}
	}
	get(t, base+"/healthz", tls.VersionTLS13, http.StatusOK)
	get(t, base+"/readyz", tls.VersionTLS13, http.StatusServiceUnavailable)
	ready.Store(true)
	get(t, base+"/readyz", tls.VersionTLS13, http.StatusOK)
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}}}
	if response, err := old.Get(base + "/healthz"); err == nil {
		response.Body.Close()
		t.Error("a version of TLS that is too old is accepted")
	}
	m.Forget("ns", "c")
	if body := get(t, base+"/metrics", tls.VersionTLS13, http.StatusOK); strings.Contains(body, `checkName="c"`) {
		t.Errorf("a deleted check still has metrics:\n%s", body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string, version uint16, want int) string {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: version}, DisableKeepAlives: true}}
	response, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Errorf("%s: %d, %v", url, response.StatusCode, err)
	}
	return string(body)
}

// TestProbesNeedNoToken: the kubelet has none, and the response is not confidential.
func TestProbesNeedNoToken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuseAll := func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		s := Server{Registry: prometheus.NewRegistry(), Readers: refuseAll, Ready: func() bool { return true }, TLS: &tls.Config{MinVersion: tls.VersionTLS13}}
		ended <- s.Serve(ctx, listener)
	}()
	base := "https://" + listener.Addr().String()
	get(t, base+"/metrics", tls.VersionTLS13, http.StatusUnauthorized)
	get(t, base+"/healthz", tls.VersionTLS13, http.StatusOK)
	get(t, base+"/readyz", tls.VersionTLS13, http.StatusOK)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
