// Package nameserver is a name server for tests.
package nameserver

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/cluster-network-operator/cno/internal/testing/listeners"
)

// Reply returns what a question gets by UDP, or by TCP. It may wait: other questions are answered meanwhile. The identifier and the question are added.
type Reply func(q dnsmessage.Question, tcp bool) dnsmessage.Message

// Record is a record of a name, which ends with a dot.
func Record(name string, ttl uint32, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, TTL: ttl}, Body: body}
}

// Serve answers by UDP and TCP at an address of the current network namespace until the test ends, and returns the address. Port 0 is a port that is free
// for both.
func Serve(t testing.TB, address string, reply Reply) (string, error) {
	udp, listener, err := listeners.UDPAndTCP(address)
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _, _ = udp.Close(), listener.Close() })
	go serveUDP(t, udp, reply)
	go serveTCP(t, listener, reply)
	return udp.LocalAddr().String(), nil
}

func serveUDP(t testing.TB, udp net.PacketConn, reply Reply) {
	for {
		buffer := make([]byte, 2000)
		size, from, err := udp.ReadFrom(buffer)
		if err != nil {
			return
		}
		go func() {
			_, _ = udp.WriteTo([]byte("nonsense"), from) // is ignored
			_, _ = udp.WriteTo(respond(t, buffer[:size], reply, false), from)
		}()
	}
}

func serveTCP(t testing.TB, listener net.Listener, reply Reply) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			head := make([]byte, 2)
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			request := make([]byte, binary.BigEndian.Uint16(head))
			if _, err := io.ReadFull(conn, request); err != nil {
				return
			}
			data := respond(t, request, reply, true)
			_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(data))), data...))
		}()
	}
}

func respond(t testing.TB, request []byte, reply Reply, tcp bool) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(request); err != nil || len(m.Questions) != 1 {
		return nil
	}
	out := reply(m.Questions[0], tcp)
	out.ID, out.Response, out.Questions = m.ID, true, m.Questions
	data, err := out.Pack()
	if err != nil {
		t.Error(err)
	}
	return data
}
