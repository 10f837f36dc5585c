package egressrouter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Protocol is a transport protocol.
type Protocol string

// The protocols, as nft spells them.
const (
	TCP  Protocol = "tcp"
	UDP  Protocol = "udp"
	SCTP Protocol = "sctp"
)

// protocols returns all protocols, in the order of rules.
func protocols() []Protocol { return []Protocol{TCP, UDP, SCTP} }

// Destination is a destination to which the router redirects connections.
type Destination struct {
	// Protocol and Port select the connections. Both are zero for a destination of all other connections.
	Protocol Protocol
	Port     uint16
	Address  netip.Addr
	// TargetPort is the port at the destination. It is 0 if Port is.
	TargetPort uint16
}

// All reports whether d is for all connections that no other destination selects.
func (d Destination) All() bool { return d.Port == 0 }

var pathDestinations = field.NewPath("ip", "destinations")

func (r *reader) destinations(v any, at *field.Path) {
	list, ok := v.([]any)
	if !ok {
		r.wrongType(at, v, `a list of texts, e.g. ["8080 TCP 203.0.113.26 80"]`)
		return
	}
	if len(list) > maxDestinations {
		r.errs = append(r.errs, field.TooMany(at, len(list), maxDestinations))
		return
	}
	for i, element := range list {
		text, ok := r.text(element, at.Index(i))
		if !ok {
			continue
		}
		d, err := ParseDestination(text)
		if err != nil {
			r.invalid(at.Index(i), text, err.Error())
			continue
		}
		r.checkDestination(d, at.Index(i), text, i == len(list)-1)
		r.conf.Destinations = append(r.conf.Destinations, d)
	}
}

// checkDestination compares a destination with those before it.
func (r *reader) checkDestination(d Destination, at *field.Path, text string, last bool) {
	same := func(other Destination) bool { return other.Protocol == d.Protocol && other.Port == d.Port }
	switch {
	case slices.ContainsFunc(r.conf.Destinations, same) && d.All():
		r.invalid(at, text, "is a second destination for all ports; remove one of them")
	case slices.ContainsFunc(r.conf.Destinations, same):
		r.invalid(at, text, fmt.Sprintf("is a second destination for port %d of %s; remove one of them", d.Port, strings.ToUpper(string(d.Protocol))))
	case d.All() && !last:
		r.invalid(at, text, "is for all ports, so that those after it would never be used; write it last")
	}
}

// checkDestinations compares all destinations with the address.
func (r *reader) checkDestinations() {
	for _, d := range r.conf.Destinations {
		switch {
		case FamilyOf(d.Address) != r.conf.Family():
			r.invalid(pathDestinations, d.Address.String(), fmt.Sprintf("is an %s address, and the router's is %s; write it into the attachment of its family", FamilyOf(d.Address), r.conf.Family()))
		case d.Address == r.conf.Address.Addr():
			r.invalid(pathDestinations, d.Address.String(), "is the router's own address")
		}
	}
}

var errForm = errors.New("is not a destination; write ADDRESS, PORT PROTOCOL ADDRESS, or PORT PROTOCOL ADDRESS TARGETPORT")

// ParseDestination reads a destination in one of the forms
//
//	ADDRESS
//	PORT PROTOCOL ADDRESS
//	PORT PROTOCOL ADDRESS TARGETPORT
//
// in which ADDRESS may have the length of a prefix, as in pages of OpenShift; it has no effect.
func ParseDestination(text string) (Destination, error) {
	words := strings.Fields(text)
	if len(words) == 1 {
		address, err := parseTarget(words[0])
		return Destination{Address: address}, err
	}
	if len(words) != 3 && len(words) != 4 {
		return Destination{}, errForm
	}
	port, err := parsePort(words[0])
	if err != nil {
		return Destination{}, err
	}
	protocol := Protocol(strings.ToLower(words[1]))
	if !slices.Contains(protocols(), protocol) {
		return Destination{}, fmt.Errorf("%q is not a protocol; write TCP, UDP or SCTP", words[1])
	}
	address, err := parseTarget(words[2])
	if err != nil {
		return Destination{}, err
	}
	d := Destination{Protocol: protocol, Port: port, Address: address, TargetPort: port}
	if len(words) == 4 {
		if d.TargetPort, err = parsePort(words[3]); err != nil {
			return Destination{}, err
		}
	}
	return d, nil
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%q is not a port; write 1 to 65535", text)
	}
	return uint16(port), nil
}

func parseTarget(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	if prefix, prefixErr := netip.ParsePrefix(text); prefixErr == nil {
		address, err = prefix.Addr(), nil
	}
	switch {
	case err != nil, address.Is4In6(), address.Zone() != "":
		return netip.Addr{}, fmt.Errorf("%q is not an IP address", text)
	case !address.IsGlobalUnicast():
		return netip.Addr{}, fmt.Errorf("%s cannot be reached through a router", address)
	}
	return address, nil
}
