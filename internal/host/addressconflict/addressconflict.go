// Package addressconflict detects whether another machine on a link has an address, and announces addresses.
package addressconflict

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/neighbor"
)

// maxFrame is larger than any frame of ARP and neighbor discovery.
const maxFrame = 2048

// Listener sends and receives frames of an interface about one address.
type Listener struct {
	socket  int
	address netip.Addr
	own     neighbor.MAC
}

// Listen opens an interface for frames about one address.
func Listen(link netlink.Link, address netip.Addr) (*Listener, error) {
	l := &Listener{address: address, own: neighbor.MAC(link.Attrs().HardwareAddr)}
	protocol := uint16(unix.ETH_P_ARP)
	if address.Is6() {
		protocol = unix.ETH_P_IPV6
	}
	var err error
	if l.socket, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	err = unix.Bind(l.socket, &unix.SockaddrLinklayer{Protocol: bigEndian(protocol), Ifindex: link.Attrs().Index})
	if group, needed := neighbor.GroupMAC(address); needed && err == nil {
		request := unix.PacketMreq{Ifindex: int32(link.Attrs().Index), Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(group))}
		copy(request.Address[:], group[:])
		err = unix.SetsockoptPacketMreq(l.socket, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &request)
	}
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("listen on interface %s: %w", link.Attrs().Name, err)
	}
	return l, nil
}

// bigEndian returns a number in network byte order.
func bigEndian(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// Close closes the listener.
func (l *Listener) Close() { _ = unix.Close(l.socket) }

func (l *Listener) send(frame []byte) error {
	if _, err := unix.Write(l.socket, frame); err != nil {
		return fmt.Errorf("send a frame about %s: %w", l.address, err)
	}
	return nil
}

// Probe asks several times which machine has the address, and waits for an answer each time: for last after the last probe, for every after the others.
// from is the sender's address; if it is not valid, other machines do not update their neighbor tables.
func (l *Listener) Probe(from netip.Addr, times int, every, last time.Duration) (holder net.HardwareAddr, found bool, err error) {
	for i := range times {
		if err := l.send(neighbor.Question(l.address, from, l.own)); err != nil {
			return nil, false, err
		}
		wait := every
		if i == times-1 {
			wait = last
		}
		if mac, found, err := l.receive(time.Now().Add(wait)); err != nil || found {
			return net.HardwareAddr(mac[:]), found, err
		}
	}
	return nil, false, nil
}

// Announce announces the address to the other machines and switches of the link.
func (l *Listener) Announce() error {
	for _, frame := range neighbor.Announcements(l.address, l.own) {
		if err := l.send(frame); err != nil {
			return err
		}
	}
	return nil
}

// receive waits for an answer until a time.
func (l *Listener) receive(until time.Time) (neighbor.MAC, bool, error) {
	frame := make([]byte, maxFrame)
	for {
		left := time.Until(until).Milliseconds()
		if left <= 0 {
			return neighbor.MAC{}, false, nil
		}
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(l.socket), Events: unix.POLLIN}}, int(left))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return neighbor.MAC{}, false, fmt.Errorf("wait for answers about %s: %w", l.address, err)
		}
		n, _, err := unix.Recvfrom(l.socket, frame, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return neighbor.MAC{}, false, fmt.Errorf("receive answers about %s: %w", l.address, err)
		}
		if holder, ok := neighbor.Answer(frame[:n], l.address, l.own); ok {
			return holder, true, nil
		}
	}
}
