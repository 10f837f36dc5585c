// Package probe probes targets over the network of this host.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/cluster-network-operator/cno/internal/dayone/hostapply"
)

// Prober probes. Its Netlink must be set.
type Prober struct{ Netlink *netlink.Handle }

var _ hostapply.Prober = Prober{}

// Probe returns nil if the target answers before the context ends.
func (p Prober) Probe(ctx context.Context, target hostapply.Target) error {
	switch target.Kind {
	case hostapply.Gateway:
		return p.gateway(ctx, target)
	case hostapply.TCP:
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", target.Address)
		if err != nil {
			return err
		}
		return conn.Close()
	case hostapply.DNS:
		return dns(ctx, target.Address)
	}
	return fmt.Errorf("unknown kind of target %q", target.Kind)
}

// gateway probes a neighbour. It deletes the kernel's entry, which may be from before the change, and sends a packet to the discard port so that the kernel
// resolves the neighbour again.
func (p Prober) gateway(ctx context.Context, target hostapply.Target) error {
	addr, err := netip.ParseAddr(target.Address)
	if err != nil {
		return err
	}
	link, err := p.Netlink.LinkByName(target.Interface)
	if err != nil {
		return err
	}
	known, err := p.neighbour(link, addr)
	if err != nil {
		return err
	}
	if known != nil {
		if known.State&unix.NUD_PERMANENT != 0 {
			return nil // a static entry cannot be probed
		}
		if err := p.Netlink.NeighDel(known); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("delete the entry of neighbour %s: %w", addr, err)
		}
	}
	if err := poke(addr, target.Interface); err != nil {
		return err
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no neighbour %s on %s", addr, target.Interface)
		case <-ticker.C:
		}
		found, err := p.neighbour(link, addr)
		if err != nil {
			return err
		}
		if found != nil && found.State&(unix.NUD_REACHABLE|unix.NUD_STALE|unix.NUD_DELAY|unix.NUD_PROBE) != 0 {
			return nil
		}
	}
}

func (p Prober) neighbour(link netlink.Link, addr netip.Addr) (*netlink.Neigh, error) {
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	all, err := p.Netlink.NeighList(link.Attrs().Index, family)
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	for i := range all {
		if existing, ok := netip.AddrFromSlice(all[i].IP); ok && existing.Unmap() == addr {
			return &all[i], nil
		}
	}
	return nil, nil
}

func poke(addr netip.Addr, device string) error {
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		addr = addr.WithZone(device)
	}
	const discard = 9
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, discard)))
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte{0})
	return errors.Join(err, conn.Close())
}

// rootQuery is a query for the root's name servers (RFC 1035, section 4.1): an id, one question, recursion desired.
const rootQuery = "\xc0\xde\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x01"

// dns probes a name server. Any answer counts, even a refusal.
func dns(ctx context.Context, server string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(server, "53"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte(rootQuery)); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	if err != nil {
		return err
	}
	const response = 0x80
	if n < 12 || answer[0] != rootQuery[0] || answer[1] != rootQuery[1] || answer[2]&response == 0 {
		return errors.New("the response is not an answer to the query")
	}
	return nil
}
