// Package etcdtest runs an etcd for tests in a network namespace, so that it is isolated and tests can run in parallel.
package etcdtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/cluster-network-operator/cno/internal/testing/assets"
)

// Etcd is an etcd with one member. It ends with the test.
type Etcd struct {
	t     testing.TB
	netns string
	host  string
	dir   string
	cmd   *exec.Cmd
	files Files
}

// Files enable mutual TLS. The certificate must be valid for the member's address, and as a client certificate.
type Files struct{ CA, Cert, Key string }

// Start runs an etcd that listens on port 2379 of an address inside the network namespace with the given path, and waits until it responds.
func Start(t testing.TB, netns, host string) *Etcd {
	t.Helper()
	return StartTLS(t, netns, host, Files{})
}

// StartTLS is Start with mutual TLS for clients. Run reads the files again.
func StartTLS(t testing.TB, netns, host string, files Files) *Etcd {
	t.Helper()
	e := &Etcd{t: t, netns: netns, host: host, dir: t.TempDir(), files: files}
	e.Run()
	t.Cleanup(e.Kill)
	return e
}

// Endpoint returns the URL for clients inside the network namespace.
func (e *Etcd) Endpoint() string {
	scheme := "http://"
	if e.files.CA != "" {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(e.host, "2379")
}

// Run restarts the member after Kill, with its data.
func (e *Etcd) Run() {
	e.t.Helper()
	peer := "http://" + net.JoinHostPort(e.host, "2380")
	e.cmd = exec.Command("nsenter", "--net="+e.netns, Binary(e.t), "--data-dir", e.dir, "--name", "test",
		"--listen-client-urls", e.Endpoint(), "--advertise-client-urls", e.Endpoint(),
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "test="+peer,
		"--unsafe-no-fsync", "--log-level", "error")
	if e.files.CA != "" {
		e.cmd.Args = append(e.cmd.Args, "--client-cert-auth", "--trusted-ca-file", e.files.CA, "--cert-file", e.files.Cert, "--key-file", e.files.Key)
	}
	e.cmd.Stderr = os.Stderr
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	client := e.Client()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		try, stop := context.WithTimeout(ctx, time.Second)
		_, err := client.Get(try, "any")
		stop()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			e.t.Fatalf("etcd does not answer: %v", err)
		}
	}
}

// Kill kills the member.
func (e *Etcd) Kill() {
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
	e.cmd = nil
}

// Wipe kills the member and deletes its data.
func (e *Etcd) Wipe() {
	e.t.Helper()
	e.Kill()
	if err := os.RemoveAll(e.dir); err != nil {
		e.t.Fatal(err)
	}
}

// Client returns a client for use outside the network namespace. It is closed when the test ends.
func (e *Etcd) Client() *clientv3.Client {
	e.t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{e.Endpoint()},
		TLS:       e.tls(),
		Logger:    zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(e.dial),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.2, MaxDelay: 200 * time.Millisecond},
				MinConnectTimeout: time.Second,
			}),
		},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (e *Etcd) tls() *tls.Config {
	if e.files.CA == "" {
		return nil
	}
	pem, err := os.ReadFile(e.files.CA)
	if err != nil {
		e.t.Fatal(err)
	}
	cert, err := tls.LoadX509KeyPair(e.files.Cert, e.files.Key)
	if err != nil {
		e.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, Certificates: []tls.Certificate{cert}}
}

func (e *Etcd) dial(ctx context.Context, _ string) (conn net.Conn, err error) {
	inside := ns.WithNetNSPath(e.netns, func(ns.NetNS) error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.host, "2379"))
		return err
	})
	return conn, errors.Join(inside)
}

// Binary returns the path of the etcd binary.
func Binary(t testing.TB) string {
	t.Helper()
	return filepath.Join(assets.Dir(t, "etcd"), "etcd")
}

// Forward listens on the loopback interface outside the network namespace, forwards connections to etcd, and returns the URL. It is for clients without a
// custom dialer.
func (e *Etcd) Forward() string {
	e.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			outside, err := listener.Accept()
			if err != nil {
				return
			}
			go e.join(outside)
		}
	}()
	return "http://" + listener.Addr().String()
}

// join copies between two connections until one of them ends.
func (e *Etcd) join(outside net.Conn) {
	defer outside.Close()
	inside, err := e.dial(context.Background(), "")
	if err != nil {
		return
	}
	defer inside.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}
