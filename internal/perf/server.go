package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Serve discards streams and echoes single bytes until the context ends. It closes the listener.
func Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		c, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("serve: %w", err)
		}
		go func() {
			defer func() { _ = c.Close() }()
			serve(c)
		}()
	}
}

// serve ends when the client closes the connection, or sends nothing for idleLimit.
func serve(c net.Conn) {
	mode := make([]byte, 1)
	if c.SetDeadline(time.Now().Add(idleLimit)) != nil {
		return
	}
	if _, err := io.ReadFull(c, mode); err != nil {
		return
	}
	switch mode[0] {
	case modeStream:
		discard(c)
	case modeEcho:
		echo(c)
	}
}

func discard(c net.Conn) {
	buf := make([]byte, chunk)
	for extended(c) {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// echoes is the number of echoed bytes after which the deadline is extended: doing it for each would affect the measurement.
const echoes = 100

func echo(c net.Conn) {
	b := make([]byte, 1)
	for extended(c) {
		for range echoes {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	}
}

// extended extends the deadline of a connection by idleLimit.
func extended(c net.Conn) bool { return c.SetDeadline(time.Now().Add(idleLimit)) == nil }
