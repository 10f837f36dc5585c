// Package perf measures a path of the network: the throughput of one TCP stream, round trips of one byte, and new
// connections per second. Its server and its client run in pods of the operator's own image, and in the benchmarks of the lab.
package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// The first byte of a connection selects the measurement.
const (
	modeStream byte = 's'
	modeEcho   byte = 'e'
)

const (
	// dialLimit is the timeout of establishing a connection.
	dialLimit = 3 * time.Second
	// idleLimit is the idle timeout of the server.
	idleLimit = 10 * time.Second
	// chunk is the size of reads and writes in bytes.
	chunk = 256 << 10
)

// Result is the result for one path.
type Result struct {
	// Gbps is the throughput of one TCP stream in gigabits per second.
	Gbps float64 `json:"gbps"`
	// RTTp50 and RTTp99 are round trips of one byte over an established TCP connection, in microseconds.
	RTTp50 float64 `json:"rttP50us"`
	RTTp99 float64 `json:"rttP99us"`
	// Connections is the number of TCP connections per second that are established and closed sequentially.
	Connections float64 `json:"connectionsPerSecond"`
}

// Measure measures the path to a server, each of the three figures for as long as each.
func Measure(ctx context.Context, address string, each time.Duration) (Result, error) {
	var r Result
	var err error
	if r.Gbps, err = stream(ctx, address, each); err != nil {
		return r, fmt.Errorf("measure throughput: %w", err)
	}
	if r.RTTp50, r.RTTp99, err = roundTrips(ctx, address, each); err != nil {
		return r, fmt.Errorf("measure round trips: %w", err)
	}
	if r.Connections, err = connections(ctx, address, each); err != nil {
		return r, fmt.Errorf("measure connections: %w", err)
	}
	return r, nil
}

func dial(ctx context.Context, address string, mode byte) (net.Conn, error) {
	d := net.Dialer{Timeout: dialLimit}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write([]byte{mode}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// limited sets the deadline of a connection, so that it does not outlive its measurement if the path drops packets.
func limited(c net.Conn, each time.Duration) error {
	return c.SetDeadline(time.Now().Add(each + idleLimit))
}

func stream(ctx context.Context, address string, each time.Duration) (float64, error) {
	c, err := dial(ctx, address, modeStream)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	if err := limited(c, each); err != nil {
		return 0, err
	}
	buf, sent, start := make([]byte, chunk), 0, time.Now()
	for time.Since(start) < each && ctx.Err() == nil {
		n, err := c.Write(buf)
		if err != nil {
			return 0, err
		}
		sent += n
	}
	return float64(sent) * 8 / time.Since(start).Seconds() / 1e9, ctx.Err()
}

func roundTrips(ctx context.Context, address string, each time.Duration) (p50, p99 float64, err error) {
	c, err := dial(ctx, address, modeEcho)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = c.Close() }()
	if err := limited(c, each); err != nil {
		return 0, 0, err
	}
	var took []time.Duration
	b := make([]byte, 1)
	for start := time.Now(); time.Since(start) < each && ctx.Err() == nil; {
		sent := time.Now()
		if _, err := c.Write(b); err != nil {
			return 0, 0, err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return 0, 0, err
		}
		took = append(took, time.Since(sent))
	}
	if len(took) == 0 {
		return 0, 0, errors.Join(errors.New("no round trip was completed"), ctx.Err())
	}
	slices.Sort(took)
	us := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Nanoseconds()) / 1000 }
	return us(0.5), us(0.99), ctx.Err()
}

// connections establishes connections sequentially. Each is reset instead of closed, so that no ports stay in TIME_WAIT.
func connections(ctx context.Context, address string, each time.Duration) (float64, error) {
	d := net.Dialer{Timeout: dialLimit}
	count, start := 0, time.Now()
	for time.Since(start) < each && ctx.Err() == nil {
		c, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return 0, err
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			if err := tcp.SetLinger(0); err != nil {
				return 0, errors.Join(err, c.Close())
			}
		}
		if err := c.Close(); err != nil {
			return 0, err
		}
		count++
	}
	return float64(count) / time.Since(start).Seconds(), ctx.Err()
}
