// Package tunnelprobe finds out which nodes answer through the tunnels of the network. A node that fails is noticed within 4.1 s: 2 s until
// the next probe, and three tries of 0.7 s.
package tunnelprobe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

const (
	// Every is how often a node is probed that answers.
	Every = 2 * time.Second
	// Limit is how long one try may take.
	Limit = 700 * time.Millisecond
	// Tries is after how many failures a node is lost.
	Tries = 3
	// port is discard: hosts answer that no program listens, or that one does.
	port = 9
)

// State is what is known of a node.
type State int

// The states. The zero value is Unknown: no probe has been decided yet.
const (
	Unknown State = iota
	Answers
	Lost
)

// Monitor probes nodes. Make it with New.
type Monitor struct {
	probe   func(context.Context, netip.Addr) error
	changed func()

	mu      sync.Mutex
	targets map[string]*target
	all     sync.WaitGroup
}

// target is a node that is probed.
type target struct {
	address netip.Addr
	state   State
	stop    context.CancelFunc
}

// New returns a monitor that probes with a function, Probe if it is nil, and calls another one when a state has changed. That one must not
// block.
func New(probe func(context.Context, netip.Addr) error, changed func()) *Monitor {
	if probe == nil {
		probe = Probe
	}
	return &Monitor{probe: probe, changed: changed, targets: map[string]*target{}}
}

// Watch has exactly these nodes probed, by their names, until the context ends or Watch is called again. A node keeps its state while its
// address is the same.
func (m *Monitor) Watch(ctx context.Context, nodes map[string]netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, t := range m.targets {
		if nodes[name] != t.address {
			t.stop()
			delete(m.targets, name)
		}
	}
	for name, address := range nodes {
		if m.targets[name] != nil || ctx.Err() != nil {
			continue
		}
		t := &target{address: address}
		var probing context.Context
		probing, t.stop = context.WithCancel(ctx)
		m.targets[name] = t
		m.all.Go(func() { m.run(probing, t) })
	}
}

// Wait returns when no node is probed any more.
func (m *Monitor) Wait() { m.all.Wait() }

// State is that of a node; Unknown also for one that is not probed.
func (m *Monitor) State(name string) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.targets[name]; t != nil {
		return t.state
	}
	return Unknown
}

// run probes a node until the context ends.
func (m *Monitor) run(ctx context.Context, t *target) {
	defer t.stop()
	failures := 0
	for {
		started := time.Now()
		limited, cancel := context.WithTimeout(ctx, Limit)
		err := m.probe(limited, t.address)
		cancel()
		if ctx.Err() != nil {
			return
		}
		pause := Every - time.Since(started)
		switch {
		case err == nil:
			failures = 0
			m.set(t, Answers)
		case failures+1 < Tries:
			failures++
			pause = Limit - time.Since(started)
		default:
			m.set(t, Lost)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (m *Monitor) set(t *target, s State) {
	m.mu.Lock()
	changed := t.state != s
	t.state = s
	m.mu.Unlock()
	if changed {
		m.changed()
	}
}

// Probe opens a connection to a host. It succeeds also if the host refuses it: the error is that nothing came back.
func Probe(ctx context.Context, address netip.Addr) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(address, port).String())
	if err == nil {
		return conn.Close()
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() || ctx.Err() != nil || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}
