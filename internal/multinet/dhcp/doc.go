// Package dhcp implements the CNI IPAM plugin dhcp for further networks. A plugin such as macvlan requests an address for the interface that it created
// in a pod, and this package gets a lease from a DHCPv4 server of that network.
//
// A lease outlives the process: it is written to disk before the pod gets the address, and a later process renews, rebinds and releases it. Decisions
// are functions of the lease and the time (state.go, decide.go); messages are values (messages.go); the interfaces Client and Links access network
// namespaces.
package dhcp

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cluster-network-operator/cno/internal/cniserver"
)

// Port is an interface of a pod.
type Port struct {
	// NetNS is the path of the network namespace, Name the interface in it.
	NetNS, Name string
	// MAC is the MAC address. An interface of the same name with another MAC address is a different interface.
	MAC net.HardwareAddr
}

// ErrGone is the error of a port whose network namespace or interface no longer exists.
var ErrGone = errors.New("the interface no longer exists")

// Client exchanges messages with the DHCP servers of a port's network. Methods return soon after their context ends. Their error is a *RefusedError if
// a server refuses, and ErrGone if the port no longer exists.
type Client interface {
	// Acquire gets a lease from any server. If want is valid, it accepts only an offer of that address; if servers offered only other
	// addresses, the error is an *OtherError.
	Acquire(ctx context.Context, p Port, c Config, want netip.Addr) (*dhcpv4.DHCPv4, error)
	// Renew asks the server of a lease to extend it, Rebind any server.
	Renew(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error)
	Rebind(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error)
	// Release sends a DHCPRELEASE to the server, which does not answer.
	Release(ctx context.Context, p Port, c Config, l Lease) error
}

// Links changes interfaces of pods. The error for a port that no longer exists is ErrGone.
type Links interface {
	// Up sets an interface up, and returns its MAC address. It ignores the MAC address of the port.
	Up(p Port) (net.HardwareAddr, error)
	// Routes returns the IPv4 routes through an interface that the kernel removes together with the address, without the kernel's own routes.
	Routes(p Port) ([]LinkRoute, error)
	// Withdraw removes an address. A missing address is no error.
	Withdraw(p Port, a netip.Prefix) error
	// Restore adds an address and routes, unless they exist.
	Restore(p Port, a netip.Prefix, routes []LinkRoute) error
}

// LinkRoute is an IPv4 route as the kernel has it.
type LinkRoute struct {
	Route
	// Source is the preferred source address; the zero address if there is none.
	Source netip.Addr `json:"source,omitzero"`
	Table  int        `json:"table,omitempty"`
	Metric int        `json:"metric,omitempty"`
}

// Event is an event for a pod.
type Event struct {
	Pod cniserver.Pod
	// Warning is false if the event reports that a problem is resolved.
	Warning bool
	// Reason is one of the constants below, Message a sentence.
	Reason, Message string
}

// The reasons of events.
const (
	ReasonLost     = "DHCPLeaseLost"
	ReasonRestored = "DHCPLeaseRestored"
	ReasonChanged  = "DHCPOptionsChanged"
	ReasonOther    = "DHCPAddressChanged"
)

// RefusedError is a DHCPNAK.
type RefusedError struct {
	Server netip.Addr
	// Message is the server's explanation; it may be empty.
	Message string
}

func (e *RefusedError) Error() string {
	if e.Message == "" {
		return "the DHCP server " + e.Server.String() + " refuses the address"
	}
	return "the DHCP server " + e.Server.String() + " refuses the address: " + quote(e.Message)
}

// OtherError is the error if a server offers another address than the requested one.
type OtherError struct{ Server, Offered netip.Addr }

func (e *OtherError) Error() string {
	return "the DHCP server " + e.Server.String() + " offers only " + e.Offered.String()
}
