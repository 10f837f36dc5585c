package main

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netns"
)

// newNamed makes a network namespace with a name, as `ip netns add` does, and returns its path.
func newNamed(name string) (string, error) {
	runtime.LockOSThread()
	// The thread stays in the new namespace; it is locked, so it ends with the goroutine.
	origin, err := netns.Get()
	if err != nil {
		return "", err
	}
	defer func() { _ = origin.Close() }()
	h, err := netns.NewNamed(name)
	if err != nil {
		return "", err
	}
	_ = h.Close()
	return nsPath(name), netns.Set(origin)
}

func removeNamed(name string) error { return netns.DeleteNamed(name) }

// inNamespace calls f in a named network namespace; in the present one if the name is empty.
func inNamespace(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return ns.WithNetNSPath(nsPath(name), func(ns.NetNS) error { return f() })
}

const (
	modeStream = 's'
	modeEcho   = 'e'
)

// serve accepts connections; the first byte of each says what it wants.
func serve(ctx context.Context, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go func() {
			defer func() { _ = c.Close() }()
			mode := make([]byte, 1)
			if _, err := io.ReadFull(c, mode); err != nil {
				return
			}
			if mode[0] == modeStream {
				swallow(c)
				return
			}
			echo(c)
		}()
	}
}

func swallow(c net.Conn) {
	buf := make([]byte, 256<<10)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

func echo(c net.Conn) {
	b := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// traffic is what two namespaces get from one another.
type traffic struct {
	// Gbps is the throughput of one TCP stream in gigabits a second.
	Gbps float64 `json:"gbps"`
	// RTTp50 and RTTp99 are one-byte round trips over TCP in microseconds.
	RTTp50 float64 `json:"rttP50us"`
	RTTp99 float64 `json:"rttP99us"`
}

func measureTraffic(ctx context.Context, address string, each time.Duration) (traffic, error) {
	var m traffic
	var err error
	if m.Gbps, err = stream(ctx, address, each); err != nil {
		return m, err
	}
	m.RTTp50, m.RTTp99, err = roundTrips(ctx, address, each)
	return m, err
}

func dial(ctx context.Context, address string, mode byte) (net.Conn, error) {
	d := net.Dialer{Timeout: 3 * time.Second}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_, err = c.Write([]byte{mode})
	return c, err
}

func stream(ctx context.Context, address string, each time.Duration) (float64, error) {
	c, err := dial(ctx, address, modeStream)
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	buf, sent, start := make([]byte, 256<<10), 0, time.Now()
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
		return 0, 0, errors.New("no round trip was made")
	}
	slices.Sort(took)
	us := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))].Nanoseconds()) / 1000 }
	return us(0.5), us(0.99), ctx.Err()
}
