package underlay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// dialTimeout is the time limit for a connection to an API server before the next one is tried.
const dialTimeout = time.Second

// Forwarder forwards connections to the first of several servers that accepts them.
type Forwarder struct {
	// Servers are host:port addresses in the order they are tried.
	Servers []string
	Log     *slog.Logger
}

// Serve accepts connections until the context is done.
func (f Forwarder) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		go func() {
			if err := f.carry(ctx, c); err != nil {
				f.Log.Debug("connection dropped", "err", err)
			}
		}()
	}
}

func (f Forwarder) carry(ctx context.Context, client net.Conn) error {
	defer client.Close()
	server, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { pipe(server, client) })
	both.Go(func() { pipe(client, server) })
	both.Wait()
	return nil
}

func (f Forwarder) dial(ctx context.Context) (net.Conn, error) {
	var errs []error
	for _, s := range f.Servers {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s)
		cancel()
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// pipe copies until the source ends, and then closes the destination for writing:
// a client may have sent its request while the response is still in transit. If the
// copy fails, pipe closes both ends.
func pipe(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
