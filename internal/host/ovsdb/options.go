package ovsdb

import (
	"crypto/tls"
	"time"
)

// LocalMaxBackoff is MaxBackoff for a server on the same machine: attempts cost it nothing, and while it is away, nothing can be written.
const LocalMaxBackoff = time.Second

// Options has limits and credentials of connections. The zero value is usable for endpoints without TLS.
type Options struct {
	// TLS returns the configuration of one connection to an ssl endpoint. It is called for each connection, so that rotated
	// certificates are used. Without a ServerName the server's certificate must be valid for the IP address of the endpoint.
	TLS func() (*tls.Config, error)
	// ConnectTimeout limits connecting to one endpoint, with the handshake of TLS. Default: 10 s.
	ConnectTimeout time.Duration
	// ProbeInterval is how long a server may be silent before it must answer an echo within the same time. A message must be
	// written within twice that time. Default: 30 s, as servers do not answer while they compact a large database.
	ProbeInterval time.Duration
	// MaxMessage limits the bytes of one message in each direction, and of the updates of a monitor that wait for their
	// reader. Default: 256 MiB.
	MaxMessage int
	// MinBackoff and MaxBackoff are the first and the longest pause between attempts of a Session. Default: 100 ms and 8 s.
	MinBackoff, MaxBackoff time.Duration
}

func (o Options) withDefaults() Options {
	o.ConnectTimeout = orDefault(o.ConnectTimeout, 10*time.Second)
	o.ProbeInterval = orDefault(o.ProbeInterval, 30*time.Second)
	o.MaxMessage = orDefault(o.MaxMessage, 256<<20)
	o.MinBackoff = orDefault(o.MinBackoff, 100*time.Millisecond)
	o.MaxBackoff = max(o.MinBackoff, orDefault(o.MaxBackoff, 8*time.Second))
	return o
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}
