package nodetest

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"

	"github.com/cluster-network-operator/cno/internal/testing/eventually"
	"github.com/cluster-network-operator/cno/internal/testing/netns"
)

// Reaches waits until an address answers pings with so many bytes in one packet.
func Reaches(t testing.TB, from netns.Namespace, addr netip.Addr, size int) {
	t.Helper()
	headers := 28
	if addr.Is6() {
		headers = 48
	}
	eventually.Holds(t, fmt.Sprintf("ping %s with %d bytes", addr, size), func() (string, bool) {
		out, err := from.Try("ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", fmt.Sprint(size-headers), addr.String())
		return out, err == nil
	})
}

// Serve accepts connections in a namespace until the test ends, and answers each with the client's address.
func Serve(t testing.TB, at netns.Namespace, address string) {
	t.Helper()
	var listener net.Listener
	if err := ns.WithNetNSPath(at.Path(), func(ns.NetNS) (err error) {
		listener, err = net.Listen("tcp", address)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
			_, _ = conn.Write([]byte(host))
			_ = conn.Close()
		}
	}()
}

// Ask connects to an address from a namespace and returns the answer.
func Ask(from netns.Namespace, address string, limit time.Duration) (answer string, err error) {
	err = ns.WithNetNSPath(from.Path(), func(ns.NetNS) error {
		conn, err := net.DialTimeout("tcp", address, limit)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		buffer := make([]byte, 64)
		n, err := conn.Read(buffer)
		answer = string(buffer[:n])
		return err
	})
	return answer, err
}

// Answers waits until a server answers, and returns what.
func Answers(t testing.TB, from netns.Namespace, address string) string {
	t.Helper()
	var answer string
	eventually.Holds(t, "connect to "+address, func() (string, bool) {
		var err error
		answer, err = Ask(from, address, 2*time.Second)
		return fmt.Sprint(err), err == nil
	})
	return answer
}
