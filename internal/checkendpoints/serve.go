package checkendpoints

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server serves a checker's metrics and whether it is ready, over TLS.
type Server struct {
	// Registry has the metrics.
	Registry *prometheus.Registry
	// Readers lets those through who may read the metrics, and answers the others. Nil lets everybody.
	Readers func(http.Handler) http.Handler
	// Ready is that of the checker.
	Ready func() bool
	// TLS has the versions and cipher suites that are allowed. Its certificate is made at the start, signed by itself, unless there is one.
	TLS *tls.Config
}

// patience is how long a client may take to ask, and to take the answer.
const patience = 30 * time.Second

// Serve answers on a listener until the context ends. It closes the listener.
func (s Server) Serve(ctx context.Context, listener net.Listener) error {
	config := s.TLS.Clone()
	if len(config.Certificates) == 0 {
		own, err := selfSigned()
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{own}
	}
	mux := http.NewServeMux()
	metrics := promhttp.HandlerFor(s.Registry, promhttp.HandlerOpts{})
	if s.Readers != nil {
		metrics = s.Readers(metrics)
	}
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Ready() {
			http.Error(w, "the API server cannot be reached", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
	server := &http.Server{
		Handler: mux, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// selfSigned makes a certificate that lives as long as the program. Clients that want to know whom they talk to need
// another one: it keeps what is said from others, no more.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create serial: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "network-check-source"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}
