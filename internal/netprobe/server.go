package netprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// patience is the timeout of a connection.
const patience = 10 * time.Second

// Serve echoes TCP streams and UDP datagrams until the context ends. It closes both.
func Serve(ctx context.Context, listener net.Listener, packets net.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close(); _ = packets.Close() })
	defer stop()
	failed := make(chan error, 2)
	go func() { failed <- serveUDP(packets) }()
	go func() { failed <- serveTCP(listener) }()
	err := <-failed
	if ctx.Err() != nil && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

func serveTCP(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if conn.SetDeadline(time.Now().Add(patience)) == nil {
				_, _ = io.Copy(conn, conn) // a closed connection is no error
			}
		}()
	}
}

func serveUDP(packets net.PacketConn) error {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := packets.ReadFrom(buffer)
		if err != nil {
			return err
		}
		_, _ = packets.WriteTo(buffer[:n], from) // the client detects lost datagrams
	}
}
