package dhcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// acquireTimeout is the time without an offer after which the first request is repeated. It doubles with each repetition, until the context ends.
// extendTimeout is the same for an extension.
const (
	acquireTimeout = 2 * time.Second
	extendTimeout  = time.Second
)

// NewClient returns the client that uses sockets in the network namespaces of pods. It needs CAP_SYS_ADMIN to enter them, and CAP_NET_RAW
// for interfaces without an address.
func NewClient() Client { return sockets{} }

type sockets struct{}

// Acquire implements Client.
func (sockets) Acquire(ctx context.Context, p Port, c Config, want netip.Addr) (*dhcpv4.DHCPv4, error) {
	client, err := open(p, netip.Addr{}, acquireTimeout, nclient4.DefaultServers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	msg, err := discover(p.MAC, c, want)
	if err != nil {
		return nil, fmt.Errorf("create DHCPDISCOVER: %w", err)
	}
	var other *OtherError
	offer, err := client.SendAndRead(ctx, nclient4.DefaultServers, msg, func(m *dhcpv4.DHCPv4) bool {
		server, serverOK := netip.AddrFromSlice(m.ServerIdentifier().To4())
		addr, ok := netip.AddrFromSlice(m.YourIPAddr.To4())
		if m.MessageType() != dhcpv4.MessageTypeOffer || !ok || !serverOK {
			return false
		}
		if want.IsValid() && addr != want {
			other = &OtherError{Server: server, Offered: addr}
			return false
		}
		return true
	})
	if err != nil {
		if other != nil {
			return nil, other
		}
		return nil, fmt.Errorf("no DHCPOFFER: %w", err)
	}
	accept, err := request(p.MAC, c, offer)
	if err != nil {
		return nil, fmt.Errorf("create DHCPREQUEST: %w", err)
	}
	return answer(ctx, client, nclient4.DefaultServers, accept, offer.ServerIdentifier())
}

// Renew implements Client: from the address, to the server, through the kernel, as the server may be behind a router.
func (sockets) Renew(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	server := &net.UDPAddr{IP: l.Server.AsSlice(), Port: nclient4.ServerPort}
	client, err := open(p, l.Prefix.Addr(), extendTimeout, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	msg, err := renew(p.MAC, c, l)
	if err != nil {
		return nil, fmt.Errorf("create DHCPREQUEST: %w", err)
	}
	return answer(ctx, client, server, msg, server.IP)
}

// Rebind implements Client: it broadcasts from a packet socket, which routes and filters of the pod do not affect.
func (sockets) Rebind(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error) {
	client, err := open(p, netip.Addr{}, extendTimeout, nclient4.DefaultServers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	msg, err := renew(p.MAC, c, l)
	if err != nil {
		return nil, fmt.Errorf("create DHCPREQUEST: %w", err)
	}
	return answer(ctx, client, nclient4.DefaultServers, msg, nil)
}

// answer sends a request, and returns the acknowledgement. It ignores answers of servers other than the given one; nil accepts any server.
func answer(ctx context.Context, client *nclient4.Client, to *net.UDPAddr, msg *dhcpv4.DHCPv4, server net.IP) (*dhcpv4.DHCPv4, error) {
	got, err := client.SendAndRead(ctx, to, msg, func(m *dhcpv4.DHCPv4) bool {
		kind := m.MessageType()
		return (kind == dhcpv4.MessageTypeAck || kind == dhcpv4.MessageTypeNak) && (server == nil || m.ServerIdentifier().Equal(server))
	})
	if err != nil {
		return nil, fmt.Errorf("no DHCPACK from %s: %w", to.IP, err)
	}
	return got, refusal(got)
}

// Release implements Client. If the interface does not have the address, as after a failed ADD, or if the pod's own filters drop the message, it sends
// a broadcast frame.
func (sockets) Release(_ context.Context, p Port, c Config, l Lease) error {
	releaseMessage, err := release(p.MAC, c, l)
	if err != nil {
		return fmt.Errorf("create DHCPRELEASE: %w", err)
	}
	to := &net.UDPAddr{IP: l.Server.AsSlice(), Port: nclient4.ServerPort}
	return withInterface(p, func(link *net.Interface) error {
		conn, err := unicast(link, l.Prefix.Addr())
		if err == nil {
			_, err = conn.WriteTo(releaseMessage.ToBytes(), to)
			err = errors.Join(err, conn.Close())
		}
		if err == nil {
			return nil
		}
		raw, rawErr := broadcast(link, l.Prefix.Addr())
		if rawErr != nil {
			return errors.Join(err, rawErr)
		}
		_, rawErr = raw.WriteTo(releaseMessage.ToBytes(), to)
		return errors.Join(rawErr, raw.Close())
	})
}

// open returns a client with a socket in a pod's network namespace: with the address from, or a packet socket if from is not valid.
func open(p Port, from netip.Addr, first time.Duration, to *net.UDPAddr) (client *nclient4.Client, err error) {
	err = withInterface(p, func(link *net.Interface) error {
		var conn net.PacketConn
		if from.IsValid() {
			conn, err = unicast(link, from)
		} else {
			conn, err = broadcast(link, netip.Addr{})
		}
		if err != nil {
			return err
		}
		const forever = -1
		client, err = nclient4.NewWithConn(conn, p.MAC, nclient4.WithTimeout(first), nclient4.WithRetry(forever), nclient4.WithServerAddr(to))
		if err != nil {
			return errors.Join(err, conn.Close())
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrGone) {
		err = fmt.Errorf("open DHCP client on %s: %w", p.Name, err)
	}
	return client, err
}

// withInterface calls f in the network namespace of a port with its interface.
func withInterface(p Port, f func(*net.Interface) error) error {
	err := ns.WithNetNSPath(p.NetNS, func(ns.NetNS) error {
		link, err := net.InterfaceByName(p.Name)
		if err != nil {
			if isMissing(err) {
				return ErrGone
			}
			return err
		}
		if len(p.MAC) > 0 && link.HardwareAddr.String() != p.MAC.String() {
			return fmt.Errorf("%s has another MAC address: %w", p.Name, ErrGone)
		}
		return f(link)
	})
	return gone(err)
}

// gone converts the errors of a network namespace that does not exist to ErrGone. The file may remain after its namespace ended.
func gone(err error) error {
	_, missing := errors.AsType[ns.NSPathNotExistErr](err)
	_, other := errors.AsType[ns.NSPathNotNSErr](err)
	if missing || other {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// isMissing reports whether an error of package net, which has no sentinel error for it, is that an interface does not exist.
func isMissing(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Err != nil && op.Err.Error() == "no such network interface"
}

// unicast opens a socket that is bound to an interface and to one of its addresses.
func unicast(link *net.Interface, from netip.Addr) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var set error
		err := conn.Control(func(fd uintptr) {
			set = errors.Join(
				unix.BindToDevice(int(fd), link.Name),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		})
		return errors.Join(err, set)
	}}
	return config.ListenPacket(context.Background(), "udp4", netip.AddrPortFrom(from, nclient4.ClientPort).String())
}

// broadcast opens a packet socket whose frames go to all hosts of the link, with the source address from, or 0.0.0.0.
func broadcast(link *net.Interface, from netip.Addr) (net.PacketConn, error) {
	raw, err := packet.Listen(link, packet.Datagram, unix.ETH_P_IP, nil)
	if err != nil {
		return nil, err
	}
	bound := &net.UDPAddr{Port: nclient4.ClientPort}
	if from.IsValid() {
		bound.IP = from.AsSlice()
	}
	return nclient4.NewBroadcastUDPConn(raw, bound), nil
}
