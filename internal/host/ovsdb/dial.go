package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// Dial connects to the server that listens on a unix socket. ctx limits connecting only.
func Dial(ctx context.Context, socket string) (*Client, error) {
	return Connect(ctx, []Endpoint{Unix(socket)}, Options{})
}

// Connect connects to the first endpoint that accepts a connection. ctx limits connecting only; Close ends the connection.
func Connect(ctx context.Context, endpoints []Endpoint, o Options) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("connect to ovsdb: the list of endpoints is empty")
	}
	o = o.withDefaults()
	var failures []error
	for _, e := range endpoints {
		conn, err := e.connect(ctx, o)
		if err == nil {
			return newClient(conn, o), nil
		}
		failures = append(failures, fmt.Errorf("connect to ovsdb at %s: %w", e, err))
	}
	return nil, errors.Join(failures...)
}

func (e Endpoint) connect(ctx context.Context, o Options) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	if e.TLS && o.TLS == nil {
		return nil, errors.New("no TLS configuration is set; set Options.TLS")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, e.Network, e.Address)
	if err != nil || !e.TLS {
		return conn, err
	}
	secure, err := e.handshake(ctx, conn, o)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func (e Endpoint) handshake(ctx context.Context, conn net.Conn, o Options) (net.Conn, error) {
	config, err := o.TLS()
	if err != nil {
		return nil, fmt.Errorf("load the TLS configuration: %w", err)
	}
	if config.ServerName == "" {
		config = config.Clone()
		if config.ServerName, _, err = net.SplitHostPort(e.Address); err != nil {
			return nil, err
		}
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, nil
}
