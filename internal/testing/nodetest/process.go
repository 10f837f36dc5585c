// Package nodetest has what tests of nodes' agents need: nodes and pods are network namespaces, and the agents processes in them.
package nodetest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// Process is a running program.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	log  lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Start runs a program in the network namespace of a node until the test ends, with variables in addition to those of the test. What it writes is shown
// under the title when the test fails.
func Start(t testing.TB, at netns.Namespace, title string, environment []string, command ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command("nsenter", append([]string{"--net=" + at.Path()}, command...)...), done: make(chan struct{})}
	p.cmd.Env = append(p.cmd.Environ(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("%s:\n%s", title, p.Log())
		}
	})
	return p
}

func (p *Process) end(signal syscall.Signal) {
	_ = p.cmd.Process.Signal(signal)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Log is the end of what the program has written.
func (p *Process) Log() string {
	const most = 6000
	s := p.log.String()
	if len(s) > most {
		return "...\n" + s[len(s)-most:]
	}
	return s
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill ends the program without letting it do anything.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Stop asks the program to end, waits until it has, and fails the test if it reports an error.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.end(syscall.SIGTERM)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("%s ends with status %d:\n%s", p.cmd.Path, code, p.Log())
	}
}

// Ended reports whether the program does not run any more.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Forwarder makes an API server reachable from the network namespace of a node, at the same address.
type Forwarder struct {
	at      netns.Namespace
	address string

	mu       sync.Mutex
	listener net.Listener
	clients  map[net.Conn]bool
}

// ForwardAPI starts a forwarder, which stops when the test ends.
func ForwardAPI(t testing.TB, at netns.Namespace, host string) *Forwarder {
	t.Helper()
	server, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	f := &Forwarder{at: at, address: server.Host, clients: map[net.Conn]bool{}}
	if f.address == "" {
		f.address = host
	}
	f.Start(t)
	t.Cleanup(f.Stop)
	return f
}

// Start makes the server reachable again.
func (f *Forwarder) Start(t testing.TB) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ns.WithNetNSPath(f.at.Path(), func(ns.NetNS) (err error) {
		f.listener, err = net.Listen("tcp", f.address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	go f.accept(f.listener)
}

// Stop is what a client sees of a server that is killed: connections end, and no new ones are accepted.
func (f *Forwarder) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener != nil {
		_ = f.listener.Close()
		f.listener = nil
	}
	for conn := range f.clients {
		_ = conn.Close()
	}
}

func (f *Forwarder) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.clients[conn] = true
		if f.listener != listener { // stopped since
			_ = conn.Close()
		}
		f.mu.Unlock()
		go func() {
			relay(conn, f.address)
			f.mu.Lock()
			delete(f.clients, conn)
			f.mu.Unlock()
		}()
	}
}

func relay(conn net.Conn, address string) {
	defer conn.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, conn); _ = to.Close() }()
	_, _ = io.Copy(conn, to)
}
