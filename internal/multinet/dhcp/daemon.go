package dhcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

// Daemon serves the CNI plugin dhcp of a node. All fields must be set unless their comment has a default.
type Daemon struct {
	// Dir is the directory of leases and attachments, which persist across restarts; it is created with mode 0700.
	Dir string
	// Socket is the socket for the shim.
	Socket string
	// Legacy is the socket for containernetworking's own binary, which hosts may still have; empty for none.
	Legacy string
	// Event reports an event for a pod. It must not block.
	Event func(Event)
	Log   *slog.Logger
	// Within is how long an ADD waits for a server; 30 seconds if it is 0.
	Within time.Duration
	// Metrics counts requests; it may be nil.
	Metrics cniserver.Metrics

	handler atomic.Pointer[Handler]
}

// maxConcurrentRequests bounds the requests that run at once. It is large, so that a network without a server does not delay other networks.
const maxConcurrentRequests = 64

// Serves reports whether the daemon serves requests; it is false while another process has the directory locked.
func (d *Daemon) Serves() bool { return d.handler.Load() != nil }

// Leases returns the number of leases of pods on this node, and how many of them are lost.
func (d *Daemon) Leases() (all, lost int) {
	if h := d.handler.Load(); h != nil {
		return h.count()
	}
	return 0, 0
}

// Run serves until the context ends; it does not release leases. It first waits for the lock on the directory: of two processes during a rollout, only
// one renews leases and listens on the sockets.
func (d *Daemon) Run(ctx context.Context) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	handler := &Handler{Client: NewClient(), Links: NewLinks(), Dir: filepath.Join(d.Dir, "leases"), Event: d.Event, Log: d.Log, Within: d.Within}
	if err := handler.Start(ctx); err != nil {
		return err
	}
	defer handler.Wait()
	defer cancel()
	listener, err := cniserver.Listen(d.Socket)
	if err != nil {
		return err
	}
	server := &cniserver.Server{Handler: handler, Dir: filepath.Join(d.Dir, "attachments"), Log: d.Log, Metrics: d.Metrics, Concurrency: maxConcurrentRequests}
	d.handler.Store(handler)
	if d.Legacy != "" {
		var legacy sync.WaitGroup
		defer legacy.Wait()
		defer cancel()
		legacy.Go(func() { legacyServer{server, d.Log}.retry(ctx, d.Legacy) })
	}
	return server.Serve(ctx, listener)
}

// lockRetryInterval is the time between two attempts to get the lock.
const lockRetryInterval = 100 * time.Millisecond

// lock locks the directory for this process.
func (d *Daemon) lock(ctx context.Context) (unlock func(), err error) {
	if err := (store{d.Dir}).open(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(d.Dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // which unlocks it
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		if !waiting {
			d.Log.Info("waiting for another process to end", "lock", file.Name())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-time.After(lockRetryInterval):
		}
	}
}
