// Package dhcp is a DHCPv4 client for one interface, which acquires and renews leases. It does not configure the host; the interface must be up.
package dhcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
)

// Request has the parameters of a request for a lease.
type Request struct {
	Interface string
	// ClientID is in NMState's syntax: ll or empty for the type and the MAC address, which nodes use in earlier stages of the boot; iaid+duid
	// for RFC 4361; otherwise the identifier itself, as hexadecimal with colons or as text.
	ClientID string
	// Hostname is sent if not empty.
	Hostname string
	// Before is a lease to renew; nil for a new lease.
	Before *Lease
}

// Lease is a lease of a server.
type Lease struct {
	Prefix  netip.Prefix  `json:"prefix"` // the address, with the length of its subnet's prefix
	Routers []netip.Addr  `json:"routers,omitempty"`
	Routes  []Route       `json:"routes,omitempty"` // if there are any, Routers do not count (RFC 3442)
	DNS     []netip.Addr  `json:"dns,omitempty"`
	Search  []string      `json:"search,omitempty"`
	Valid   time.Duration `json:"valid"`
	Renew   time.Duration `json:"renew"` // after this time it should be renewed
	Since   time.Time     `json:"since"`
	Ack     []byte        `json:"ack"` // the server's answer as it was on the wire
}

// Route is a route of a lease.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Via         netip.Addr   `json:"via"` // unspecified if on link
}

// An exchange is retried after 2, 4, 8, 16 and 32 seconds, or until the context ends, since a switch port may not forward yet when a node boots.
const (
	tries   = 5
	timeout = 2 * time.Second
)

// Get acquires or renews a lease. It fails when the context ends or no server answers. now is the clock for the start of the lease.
func Get(ctx context.Context, r Request, now func() time.Time) (Lease, error) {
	device, err := net.InterfaceByName(r.Interface)
	if err != nil {
		return Lease{}, err
	}
	client, err := nclient4.New(r.Interface, nclient4.WithTimeout(timeout), nclient4.WithRetry(tries))
	if err != nil {
		return Lease{}, fmt.Errorf("open DHCP client on %s: %w", r.Interface, err)
	}
	defer func() { _ = client.Close() }()
	options, err := modifiers(r, device.HardwareAddr)
	if err != nil {
		return Lease{}, err
	}
	if r.Before != nil {
		if lease, err := renew(ctx, client, *r.Before, options, now); err == nil {
			return lease, nil
		}
		options = append(options, dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(r.Before.Prefix.Addr().AsSlice())))
	}
	answer, err := client.Request(ctx, options...)
	if err != nil {
		return Lease{}, fmt.Errorf("ask for a lease on %s: %w", r.Interface, err)
	}
	return Read(answer.ACK, now())
}

func renew(ctx context.Context, client *nclient4.Client, before Lease, options []dhcpv4.Modifier, now func() time.Time) (Lease, error) {
	ack, err := dhcpv4.FromBytes(before.Ack)
	if err != nil {
		return Lease{}, fmt.Errorf("read the previous lease: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	answer, err := client.Renew(ctx, &nclient4.Lease{Offer: ack, ACK: ack}, options...)
	if err != nil {
		return Lease{}, err
	}
	return Read(answer.ACK, now())
}

func modifiers(r Request, mac net.HardwareAddr) ([]dhcpv4.Modifier, error) {
	id, err := clientID(r.ClientID, mac)
	if err != nil {
		return nil, err
	}
	options := []dhcpv4.Modifier{
		dhcpv4.WithOption(dhcpv4.OptClientIdentifier(id)),
		dhcpv4.WithRequestedOptions(dhcpv4.OptionSubnetMask, dhcpv4.OptionRouter, dhcpv4.OptionDomainNameServer, dhcpv4.OptionDomainName,
			dhcpv4.OptionDNSDomainSearchList, dhcpv4.OptionClasslessStaticRoute),
	}
	if r.Hostname != "" {
		options = append(options, dhcpv4.WithOption(dhcpv4.OptHostName(r.Hostname)))
	}
	return options, nil
}

// clientID returns option 61 (RFC 2132, section 9.14; RFC 4361, section 6.1).
func clientID(word string, mac net.HardwareAddr) ([]byte, error) {
	if len(mac) < 6 {
		return nil, errors.New("the interface has no MAC address")
	}
	const ethernet = 1
	switch word {
	case "", "ll":
		return append([]byte{ethernet}, mac...), nil
	case "iaid+duid":
		id := append([]byte{0xff}, mac[len(mac)-4:]...)                      // the interface
		return append(id, append([]byte{0, 3, 0, ethernet}, mac...)...), nil // DUID-LL (RFC 8415, section 11.4)
	}
	var out []byte
	for part := range strings.SplitSeq(word, ":") {
		var b byte
		if _, err := fmt.Sscanf(part, "%02x", &b); err != nil || len(part) > 2 || !strings.Contains(word, ":") {
			return append([]byte{0}, word...), nil // type 0 is text
		}
		out = append(out, b)
	}
	return out, nil
}

// Read returns the lease of an acknowledgement, which starts at now.
func Read(ack *dhcpv4.DHCPv4, now time.Time) (Lease, error) {
	addr, ok := netip.AddrFromSlice(ack.YourIPAddr.To4())
	ones, bits := ack.SubnetMask().Size()
	if !ok || bits == 0 {
		return Lease{}, fmt.Errorf("the server %s gave no address, or no mask", ack.ServerIdentifier())
	}
	valid := ack.IPAddressLeaseTime(0)
	if valid <= 0 {
		return Lease{}, fmt.Errorf("the server %s gave a lease without a time", ack.ServerIdentifier())
	}
	l := Lease{
		Prefix: netip.PrefixFrom(addr, ones), Routers: addrs(ack.Router()), DNS: addrs(ack.DNS()), Valid: valid,
		Renew: ack.IPAddressRenewalTime(valid / 2), Since: now, Ack: ack.ToBytes(),
	}
	for _, r := range ack.ClasslessStaticRoute() {
		destination, ok := netip.AddrFromSlice(r.Dest.IP.To4())
		via, viaOK := netip.AddrFromSlice(r.Router.To4())
		if length, _ := r.Dest.Mask.Size(); ok && viaOK {
			l.Routes = append(l.Routes, Route{Destination: netip.PrefixFrom(destination, length).Masked(), Via: via})
		}
	}
	if domain := ack.DomainName(); domain != "" {
		l.Search = []string{strings.TrimRight(domain, "\x00")}
	}
	if list := ack.DomainSearch(); list != nil && len(list.Labels) > 0 {
		l.Search = list.Labels
	}
	return l, nil
}

func addrs(ips []net.IP) []netip.Addr {
	var out []netip.Addr
	for _, ip := range ips {
		if a, ok := netip.AddrFromSlice(ip); ok {
			out = append(out, a.Unmap())
		}
	}
	return out
}
