package controller

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

func (c *connection) probe(address string) error {
	dialer := &net.Dialer{Timeout: probeTimeout}
	var conn net.Conn
	var err error
	if c.target.TLS == nil {
		conn, err = dialer.Dial("tcp", address)
	} else {
		conn, err = tls.DialWithDialer(dialer, "tcp", address, c.target.TLS)
	}
	if err != nil {
		return err
	}
	return conn.Close()
}
