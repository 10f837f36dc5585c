package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	// probeInterval is the interval of connections, which is also the resolution of the result.
	probeInterval = 10 * time.Millisecond
	// probeTimeout is the timeout of a connection. It is shorter than the second after which the kernel repeats the first packet, so that
	// each connection sends one.
	probeTimeout = 800 * time.Millisecond
	// probeLimit is the timeout for an outcome.
	probeLimit = time.Minute
)

// outcome is the output of a probe: its time in nanoseconds since 1970, or an error.
type outcome struct {
	At    int64  `json:"at,omitempty"`
	Error string `json:"error,omitempty"`
}

// probeLines runs a probe for each line of input.
func probeLines(ctx context.Context, input io.Reader, report func(any) error) error {
	lines := bufio.NewScanner(input)
	var from ports
	for lines.Scan() {
		what, address, _ := strings.Cut(lines.Text(), " ")
		at, err := probe(ctx, what, address, &from)
		o := outcome{At: at.UnixNano()}
		if err != nil {
			o = outcome{Error: err.Error()}
		}
		if err := report(o); err != nil {
			return err
		}
	}
	return lines.Err()
}

// attempt is a connection that has ended.
type attempt struct {
	began, ended time.Time
	err          error
}

// ports are the source ports of connections.
type ports struct{ last int }

const firstPort, lastPort = 10000, 60000

// next returns a port that was not used for minutes. The kernel would reuse ports of connections to other addresses, which by way of a Service may have
// reached the same pod: for networks these would be repeated connections, which Open vSwitch 3.1 does not survive in its userspace datapath
// (assertion conn->conn_type == CT_CONN_TYPE_DEFAULT failed in conn_update_state()).
func (p *ports) next() int {
	if p.last < firstPort || p.last == lastPort {
		p.last = firstPort
	} else {
		p.last++
	}
	return p.last
}

// connect opens a connection to an HTTP server from a port and waits for the first byte of its answer.
func connect(ctx context.Context, address string, port int) (a attempt) {
	a.began = time.Now()
	defer func() { a.ended = time.Now() }()
	dialer := net.Dialer{Deadline: a.began.Add(probeTimeout), LocalAddr: &net.TCPAddr{Port: port}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		a.err = err
		return a
	}
	defer func() { _ = conn.Close() }()
	if a.err = conn.SetDeadline(a.began.Add(probeTimeout)); a.err != nil {
		return a
	}
	if _, a.err = io.WriteString(conn, "GET /hostname HTTP/1.0\r\n\r\n"); a.err != nil {
		return a
	}
	_, a.err = conn.Read(make([]byte, 1))
	return a
}

// probe opens connections until an outcome, and returns its time.
func probe(ctx context.Context, what, address string, from *ports) (time.Time, error) {
	decide, ok := map[string]func() decision{"answered": answered, "blocked": blocked}[what]
	if !ok {
		return time.Time{}, fmt.Errorf("%q is not an outcome: choose answered or blocked", what)
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	attempts, decided := make(chan attempt), decide()
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%s is not %s: %w", address, what, ctx.Err())
		case <-tick.C:
			port := from.next()
			go func() {
				a := connect(ctx, address, port)
				select {
				case attempts <- a:
				case <-ctx.Done():
				}
			}()
		case a := <-attempts:
			if at, ok := decided(a); ok {
				return at, nil
			}
		}
	}
}

// decision receives each attempt when it has ended, and returns the time of the outcome when it is known.
type decision func(attempt) (time.Time, bool)

// answered is the end of the first attempt that succeeds.
func answered() decision {
	return func(a attempt) (time.Time, bool) { return a.ended, a.err == nil }
}

// blocked is the begin of the first attempt that fails without a later one that succeeds, after the timeout of an attempt.
func blocked() decision {
	var first time.Time
	var lastAnswered time.Time
	return func(a attempt) (time.Time, bool) {
		switch {
		case a.err == nil && a.began.After(lastAnswered):
			lastAnswered = a.began
		case a.err != nil && a.began.After(lastAnswered) && (first.IsZero() || a.began.Before(first)):
			first = a.began
		}
		if !first.After(lastAnswered) {
			first = time.Time{}
		}
		return first, !first.IsZero() && a.ended.Sub(first) >= probeTimeout
	}
}
