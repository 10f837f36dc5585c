// Package dhcp is the address manager "dhcp" of further networks: a plugin of another type, for example macvlan, asks it for the address
// of the interface that it has created in a pod, and it gets one from a DHCPv4 server of that network.
//
// A lease outlives the process: it is on disk before the pod has the address, and is renewed, rebound and released by the process that
// runs then. Decisions are functions of the lease and the time (state.go, decide.go); messages are values (messages.go); what touches a
// network namespace is behind two interfaces, Client and Links.
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
	// MAC is the interface's. An interface of that name with another MAC address is not this one.
	MAC net.HardwareAddr
}

// ErrGone is the error of a port whose network namespace or interface no longer exists.
var ErrGone = errors.New("the interface no longer exists")

// Client exchanges messages with the DHCP servers of a port's network. A method ends soon after its context. A server that refuses is a
// *RefusedError, a port that no longer exists ErrGone.
type Client interface {
	// Acquire gets a lease from any server. If want is valid, offers of other addresses are not accepted: they are an *OtherError when no
	// server offered that one.
	Acquire(ctx context.Context, p Port, c Config, want netip.Addr) (*dhcpv4.DHCPv4, error)
	// Renew asks the server of a lease to extend it, Rebind any server.
	Renew(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error)
	Rebind(ctx context.Context, p Port, c Config, l Lease) (*dhcpv4.DHCPv4, error)
	// Release tells the server that the address is not used any more. No server answers that.
	Release(ctx context.Context, p Port, c Config, l Lease) error
}

// Links changes interfaces of pods. A port that no longer exists is ErrGone.
type Links interface {
	// Up sets an interface up, and returns its MAC address. The MAC address of the port is not read.
	Up(p Port) (net.HardwareAddr, error)
	// Routes returns the IPv4 routes through an interface that the kernel would remove with its address, without those that it adds itself.
	Routes(p Port) ([]LinkRoute, error)
	// Withdraw removes an address. One that is missing is no error.
	Withdraw(p Port, a netip.Prefix) error
	// Restore adds an address and routes. Those that exist are no error.
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

// Event is what the user of a pod has to know.
type Event struct {
	Pod cniserver.Pod
	// Warning is false if a problem is resolved.
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

// OtherError is the offer of an address that was not asked for.
type OtherError struct{ Server, Offered netip.Addr }

func (e *OtherError) Error() string {
	return "the DHCP server " + e.Server.String() + " offers only " + e.Offered.String()
}
