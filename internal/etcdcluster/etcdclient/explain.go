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

// probeTimeout is how long one attempt to learn why etcd does not answer may take.
const probeTimeout = 500 * time.Millisecond

// Unanswered is the sentence for an address to which connections time out.
func Unanswered(address string) string {
	return fmt.Sprintf("cannot connect to %s (timeout); a firewall may drop it", address)
}

// explain says why a request took too long, which etcd's client keeps to itself: it connects to the endpoints once
// more. Other errors say it themselves.
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

// probe connects once. That packets are lost shows before TLS begins: a member that accepts a connection and is silent then is stalled.
func (c *connection) probe(address string) error {
	conn, err := (&net.Dialer{Timeout: probeTimeout}).Dial("tcp", address)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errors.New(Unanswered(address))
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
