package underlay

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"
)

// deadline is far beyond what a connection over the loopback device takes.
const deadline = time.Minute

func TestForwarderCopiesBothWaysAndForwardsEOF(t *testing.T) {
	server := listen(t)
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		// The server responds only after the end of the request.
		question, err := io.ReadAll(c)
		if err == nil {
			_, _ = c.Write(append([]byte("re: "), question...))
		}
	}()
	c := dialThrough(t, server.Addr().String())
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || string(answer) != "re: hello" {
		t.Errorf("response %q, %v", answer, err)
	}
}

func TestForwarderSkipsUnavailableServers(t *testing.T) {
	gone := listen(t)
	gone.Close()
	server := listen(t)
	go func() {
		if c, err := server.Accept(); err == nil {
			_, _ = c.Write([]byte("second"))
			c.Close()
		}
	}()
	c := dialThrough(t, gone.Addr().String(), server.Addr().String())
	if answer, err := io.ReadAll(c); err != nil || string(answer) != "second" {
		t.Errorf("response %q, %v", answer, err)
	}
}

func TestForwarderDropsTheConnectionWhenAllAreUnavailable(t *testing.T) {
	gone := listen(t)
	gone.Close()
	c := dialThrough(t, gone.Addr().String())
	if answer, _ := io.ReadAll(c); len(answer) != 0 {
		t.Errorf("a server responded: %q", answer)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// dialThrough connects by way of a forwarder to the servers.
func dialThrough(t *testing.T, servers ...string) *net.TCPConn {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := listen(t)
	served := make(chan error, 1)
	go func() {
		served <- Forwarder{Servers: servers, Log: slog.New(slog.DiscardHandler)}.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}
