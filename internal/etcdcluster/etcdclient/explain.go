package etcdclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// probeTimeout is the timeout of the connection that detects the cause of a timeout.
const probeTimeout = 500 * time.Millisecond

// TimeoutMessage returns the message for an address to which connections time out.
func TimeoutMessage(address string) string {
	return fmt.Sprintf("cannot connect to %s (timeout); a firewall may drop it", address)
}

// explain returns an error with the cause of a timeout, which etcd's client does not report. It connects to the endpoints again to find it. It returns
// other errors unchanged.
func (c *connection) explain(err error, endpoints ...string) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	for _, endpoint := range endpoints {
		u, parseErr := url.Parse(endpoint)
		if parseErr != nil {
			continue
		}
		if cause := c.probe(u.Host); cause != nil {
			return cause
		}
	}
	return fmt.Errorf("connections are accepted, but there is no answer within %s; has it lost its quorum?", c.target.Timeout)
}

// probe connects to an address, and returns the error of the TCP connection or the TLS handshake.
func (c *connection) probe(address string) error {
	conn, err := (&net.Dialer{Timeout: probeTimeout}).Dial("tcp", address)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errors.New(TimeoutMessage(address))
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	if c.target.TLS == nil {
		return nil
	}
	config := c.target.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return tls.Client(conn, config).HandshakeContext(ctx)
}
