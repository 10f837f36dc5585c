package etcdnodes

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cluster-network-operator/cno/internal/etcdcluster/etcdclient"
	"github.com/cluster-network-operator/cno/internal/testing/assets"
)

// Process is an etcd that runs.
type Process struct {
	cmd  *exec.Cmd
	hash string
	// tls is the directory with its certificates, probe the URL that reports whether it is ready.
	tls, probe string
	done       chan struct{}
}

// Run starts an etcd with some arguments, which is killed with the test binary. Its output goes to log, if that is not nil.
func Run(t *testing.T, log io.Writer, args ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(filepath.Join(assets.Dir(t, "etcd"), "etcd"), args...), done: make(chan struct{})}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // it is killed, or exits because of its configuration, and is started again
		close(p.done)
	}()
	return p
}

// Kill kills the process and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

func (p *Process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// External starts an etcd without TLS, of one member, as a third party runs it, and returns its URL and a connection to it.
func External(t *testing.T) (url string, etcd etcdclient.Etcd, p *Process) {
	t.Helper()
	ports := FreePorts(t)
	url, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	p = Run(t, nil, "--data-dir", t.TempDir(), "--unsafe-no-fsync", "--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	t.Cleanup(p.Kill)
	etcd, err := etcdclient.Dial(etcdclient.Target{Endpoints: []string{url}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { etcd.Close() })
	return url, etcd, p
}

// given are the ports that tests have got: between the search for a free one and the start of a member, another test must not
// find it.
var given struct {
	sync.Mutex
	ports map[uint32]bool
}

// FreePorts returns ports that nothing listens on at any address that nodes may get, and that no other test has got.
func FreePorts(t *testing.T) [3]uint32 {
	t.Helper()
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[uint32]bool{}
	}
	var out [3]uint32
	for i := 0; i < len(out); {
		port, listeners := uint32(0), []net.Listener(nil)
		for number := 1; number < 10; number++ {
			l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", Address(number), port))
			if err != nil {
				port = 0
				break
			}
			listeners, port = append(listeners, l), uint32(l.Addr().(*net.TCPAddr).Port)
		}
		for _, l := range listeners {
			defer l.Close()
		}
		if port != 0 && !given.ports[port] {
			given.ports[port], out[i] = true, port
			i++
		}
	}
	return out
}
