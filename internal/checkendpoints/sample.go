package checkendpoints

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/cluster-network-operator/cno/internal/connectivity"
)

// Connector resolves names and establishes connections. The zero value uses package net.
type Connector struct {
	// Resolve returns the addresses of a host.
	Resolve func(ctx context.Context, host string) ([]string, error)
	// Dial connects to an address and port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// sample connects to an endpoint once. If possible, it also performs a TLS handshake, so that a server does not log an
// aborted one; its result is ignored: the check is about the path to the server.
func (k Connector) sample(ctx context.Context, target, endpoint string, now func() time.Time) connectivity.Sample {
	s := connectivity.Sample{Start: now(), Target: target, Endpoint: endpoint}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		s.ConnectErr = err
		return s
	}
	addresses := []string{host}
	if _, err := netip.ParseAddr(host); err != nil {
		begin := now()
		addresses, s.ResolveErr = k.resolve(ctx, host)
		s.Resolved = max(now().Sub(begin), 1)
		if s.ResolveErr != nil {
			return s
		}
	}
	begin := now()
	conn, err := k.connect(ctx, addresses, port)
	s.Connected = now().Sub(begin)
	if err != nil {
		s.ConnectErr = err
		return s
	}
	defer func() { _ = conn.Close() }()
	if !plain(port) {
		// The certificate is not verified: no data are sent or used.
		_ = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: host}).HandshakeContext(ctx)
	}
	return s
}

// connect tries addresses until one accepts the connection. The error is that of the last one.
func (k Connector) connect(ctx context.Context, addresses []string, port string) (conn net.Conn, err error) {
	dial := k.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	err = &net.AddrError{Err: "no addresses"}
	for _, a := range addresses {
		if conn, err = dial(ctx, "tcp", net.JoinHostPort(a, port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (k Connector) resolve(ctx context.Context, host string) ([]string, error) {
	if k.Resolve != nil {
		return k.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupHost(ctx, host)
}

// plain reports whether a port is one without TLS.
func plain(port string) bool {
	return port == "80" || port == strconv.Itoa(connectivity.TargetPort)
}
