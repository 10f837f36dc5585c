// Package listeners opens sockets for servers of tests.
package listeners

import (
	"net"
	"strings"
)

// attempts limits how many ports are tried.
const attempts = 20

// UDPAndTCP listens by UDP and TCP at an address of the current network namespace. Port 0 is a port that is free for both; a port that the kernel chose for
// one may be in use for the other, so several are tried.
func UDPAndTCP(address string) (net.PacketConn, net.Listener, error) {
	for attempt := 1; ; attempt++ {
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			return nil, nil, err
		}
		tcp, err := net.Listen("tcp", udp.LocalAddr().String())
		if err == nil {
			return udp, tcp, nil
		}
		_ = udp.Close()
		if attempt == attempts || !strings.HasSuffix(address, ":0") {
			return nil, nil, err
		}
	}
}
