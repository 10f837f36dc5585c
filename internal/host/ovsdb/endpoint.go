package ovsdb

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
)

// Endpoint is an address at which a server listens.
type Endpoint struct {
	// Network is "unix" or "tcp", Address the path of a socket or IP:PORT.
	Network, Address string
	// TLS is true for ssl endpoints.
	TLS bool
}

// String returns the notation that ParseEndpoints reads.
func (e Endpoint) String() string {
	if e.TLS {
		return "ssl:" + e.Address
	}
	return e.Network + ":" + e.Address
}

// Unix returns the endpoint of a unix socket.
func Unix(socket string) Endpoint { return Endpoint{Network: "unix", Address: socket} }

// ParseEndpoints reads endpoints that are separated by commas: unix:PATH, tcp:IP:PORT or ssl:IP:PORT, with IPv6 addresses in brackets.
// The error names every entry that is invalid.
func ParseEndpoints(list string) ([]Endpoint, error) {
	var out []Endpoint
	var invalid []error
	for entry := range strings.SplitSeq(list, ",") {
		e, err := parseEndpoint(strings.TrimSpace(entry))
		if err != nil {
			invalid = append(invalid, err)
			continue
		}
		out = append(out, e)
	}
	if len(invalid) > 0 {
		return nil, errors.Join(invalid...)
	}
	return out, nil
}

func parseEndpoint(entry string) (Endpoint, error) {
	kind, address, _ := strings.Cut(entry, ":")
	switch kind {
	case "unix":
		if !filepath.IsAbs(address) {
			return Endpoint{}, fmt.Errorf("ovsdb endpoint %q: the path of the socket must be absolute, as in unix:/run/openvswitch/db.sock", entry)
		}
		return Unix(address), nil
	case "tcp", "ssl":
		a, err := netip.ParseAddrPort(address)
		if err != nil || a.Port() == 0 {
			return Endpoint{}, fmt.Errorf("ovsdb endpoint %q: an IP address and a port must follow %s:, as in %s:192.0.2.1:6641 or %s:[2001:db8::1]:6641",
				entry, kind, kind, kind)
		}
		return Endpoint{Network: "tcp", Address: a.String(), TLS: kind == "ssl"}, nil
	}
	return Endpoint{}, fmt.Errorf("ovsdb endpoint %q: must be unix:PATH, tcp:IP:PORT or ssl:IP:PORT", entry)
}
