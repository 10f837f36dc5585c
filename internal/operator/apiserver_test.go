package operator

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/cluster-network-operator/cno/internal/facts"
)

func TestCandidatesAreInOrderOfTrust(t *testing.T) {
	for name, c := range map[string]struct {
		given Surroundings
		want  []facts.HostPort
	}{
		"nothing known": {},
		"everything known": {
			Surroundings{OverrideHost: "api.example", OverridePort: "443", URLFile: "# by the installer\nKUBERNETES_SERVICE_HOST='api-int.example'\nexport KUBERNETES_SERVICE_PORT=\"6444\"\n",
				HostIP: "192.0.2.1", ServiceHost: "10.96.0.1", ServicePort: "443"},
			[]facts.HostPort{{Host: "api.example", Port: 443}, {Host: "api-int.example", Port: 6444}, {Host: "192.0.2.1", Port: 6443}, {Host: "10.96.0.1", Port: 443}},
		},
		"an override without port":                 {Surroundings{OverrideHost: "192.0.2.9"}, []facts.HostPort{{Host: "192.0.2.9", Port: 6443}}},
		"the same address twice is tried once":     {Surroundings{OverrideHost: "192.0.2.1", HostIP: "192.0.2.1"}, []facts.HostPort{{Host: "192.0.2.1", Port: 6443}}},
		"brackets of IPv6 are none of the address": {Surroundings{ServiceHost: "[fd00::1]", ServicePort: "443"}, []facts.HostPort{{Host: "fd00::1", Port: 443}}},
		"an invalid port affects only its entry":   {Surroundings{OverrideHost: "a", OverridePort: "tcp", HostIP: "192.0.2.1"}, []facts.HostPort{{Host: "192.0.2.1", Port: 6443}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.given.Candidates()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindAPIServerSelectsTheFirstWithATrustedCertificate(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	real, broken := httptest.NewTLSServer(answer), httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	plain := httptest.NewServer(answer) // a third party on the port
	closed := httptest.NewServer(answer)
	closed.Close()
	defer func() { real.Close(); broken.Close(); plain.Close() }()

	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: real.Certificate().Raw})}}
	want := address(t, real.URL)
	got, err := FindAPIServer(t.Context(), config, []facts.HostPort{address(t, closed.URL), address(t, plain.URL), address(t, broken.URL), want}, slog.New(slog.DiscardHandler))
	if err != nil || got != want {
		t.Errorf("found %v, %v; want %v", got, err, want)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := FindAPIServer(ctx, config, []facts.HostPort{address(t, plain.URL)}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a server without a certificate was taken")
	}
	if _, err := FindAPIServer(t.Context(), config, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "HOST_IP") {
		t.Errorf("without candidates the error does not have the way out: %v", err)
	}
}

func address(t *testing.T, from string) facts.HostPort {
	t.Helper()
	_, hostport, _ := strings.Cut(from, "://")
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return facts.HostPort{Host: host, Port: n}
}
