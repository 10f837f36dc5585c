package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/cluster-network-operator/cno/providers/flannel/agentconfig"
)

// errAuthorities ends a connection after a change of the CA file.
var errAuthorities = errors.New("the file of CA certificates has changed")

// dial returns a client that presents own, if not nil, and connects with connect. It does not wait for a member to respond.
func dial(config agentconfig.Etcd, own *tls.Certificate, connect func(context.Context, string) (net.Conn, error)) (*clientv3.Client, error) {
	tlsConfig, err := tlsFor(config, own)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: config.Endpoints,
		TLS:       tlsConfig,
		// A member that disappears is detected within ten seconds.
		DialKeepAliveTime:    6 * time.Second,
		DialKeepAliveTimeout: 4 * time.Second,
		// Callers report errors.
		Logger: zap.NewNop(),
		// Without this, gRPC waits up to two minutes before it retries an endpoint.
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(connect), grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 3 * time.Second,
		})},
	})
	if err != nil {
		return nil, fmt.Errorf("create etcd client: %w", err)
	}
	return client, nil
}

// tlsFor returns nil if no endpoint uses TLS. The client certificate is read for each connection, so that a renewed one is used without a restart.
func tlsFor(config agentconfig.Etcd, own *tls.Certificate) (*tls.Config, error) {
	if !slices.ContainsFunc(config.Endpoints, func(e string) bool { return strings.HasPrefix(e, "https://") }) {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if config.CAFile != "" {
		pem, err := os.ReadFile(config.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read CA certificates: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", config.CAFile)
		}
	}
	if own != nil {
		out.Certificates = []tls.Certificate{*own}
	} else if config.CertFile != "" {
		out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
			return &cert, err
		}
	}
	return out, nil
}

// watchAuthorities returns errAuthorities when the content of the file changes, and nil when the context ends.
func watchAuthorities(ctx context.Context, file string) error {
	if file == "" {
		<-ctx.Done()
		return nil
	}
	first, ok := digest(file)
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		// A file that is temporarily unreadable is being replaced.
		if now, readable := digest(file); readable && (!ok || !bytes.Equal(first, now)) {
			return errAuthorities
		}
	}
}

func digest(file string) ([]byte, bool) {
	data, err := os.ReadFile(file)
	sum := sha256.Sum256(data)
	return sum[:], err == nil
}
