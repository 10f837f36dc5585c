package proxyconfig

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// forwarder is a real proxy on the loopback device: it forwards requests and opens tunnels.
type forwarder struct {
	*httptest.Server
	// password, if not empty, is what it wants as the user's.
	password string
	served   atomic.Int32
	// failing answers with an error while it is above zero, and counts down.
	failing atomic.Int32
}

func newForwarder(t *testing.T, password string, useTLS bool) *forwarder {
	t.Helper()
	f := &forwarder{password: password}
	f.Server = httptest.NewUnstartedServer(f)
	if useTLS {
		f.StartTLS()
	} else {
		f.Start()
	}
	t.Cleanup(f.Close)
	return f
}

func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.served.Add(1)
	if f.failing.Add(-1) >= 0 {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	if f.password != "" {
		with := &http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
		if _, got, _ := with.BasicAuth(); got != f.password {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
	}
	if r.Method == http.MethodConnect {
		tunnel(w, r.Host)
		return
	}
	r.RequestURI = ""
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

// tunnel connects the client with a host.
func tunnel(w http.ResponseWriter, host string) {
	up, err := net.Dial("tcp", host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer up.Close()
	w.WriteHeader(http.StatusOK)
	down, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	go func() { _, _ = io.Copy(up, buffered) }()
	_, _ = io.Copy(down, up)
}

// blackHole accepts connections and never answers.
func blackHole(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
		}
	}()
	return "http://" + listener.Addr().String()
}

// full is an address whose queue of connections is full, so that connecting takes forever.
func full(t *testing.T) string {
	t.Helper()
	address := newFullListener(t)
	return "http://" + address
}

// site returns a server that responds with a status.
func site(t *testing.T, code int, useTLS bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
	if useTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// rootsOfServer is the certificate of a server of httptest, which is self-signed.
func rootsOfServer(s *httptest.Server) string {
	return pemOf(s.Certificate())
}

func pemOf(c *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
}

// closedPort returns an address without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	return "http://" + address
}
