// Package metricsserver serves metrics over TLS: those of this program, or those that another program of the same host serves on its
// loopback address without TLS and without authorization (Endpoint). Requests are authorized by the package metricsauth.
package metricsserver

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
	"slices"
	"strings"
	"time"
)

// patience is the time limit for a client to send a request, and to read the response.
const patience = 30 * time.Second

// Serve serves requests on a listener until the context is done, and closes the listener. The TLS configuration has the allowed
// versions and cipher suites. If it has no certificate, Serve creates a self-signed one for name.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, config *tls.Config, name string) error {
	config = config.Clone()
	if len(config.Certificates) == 0 {
		own, err := SelfSigned(name)
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{own}
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: patience,
		// Scrapes are sequential requests, which do not benefit from HTTP/2.
		Protocols: new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// SelfSigned creates a certificate for the lifetime of the process. It provides encryption; clients that verify the server need
// another one.
func SelfSigned(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create serial: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// TLSConfig returns the configuration for the values of the flags --tls-min-version and --tls-cipher-suites. An unknown or insecure
// value is an error that lists the known ones.
func TLSConfig(minVersion string, suites []string) (*tls.Config, error) {
	versions := map[string]uint16{"": tls.VersionTLS12, "VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}
	least, known := versions[minVersion]
	if !known {
		return nil, fmt.Errorf("--tls-min-version %q is unknown; write VersionTLS12 or VersionTLS13", minVersion)
	}
	config := &tls.Config{MinVersion: least}
	var names []string
	for _, s := range tls.CipherSuites() {
		names = append(names, s.Name)
		if slices.Contains(suites, s.Name) {
			config.CipherSuites = append(config.CipherSuites, s.ID)
		}
	}
	for _, s := range suites {
		if !slices.Contains(names, s) {
			return nil, fmt.Errorf("--tls-cipher-suites has %q, which is unknown or not secure; the known ones are %s", s, strings.Join(names, ", "))
		}
	}
	return config, nil
}
