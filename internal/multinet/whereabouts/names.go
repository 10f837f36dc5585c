package whereabouts

import (
	"net/netip"
	"strings"
)

// Group is the API group of the records of addresses.
const Group = "whereabouts.cni.cncf.io"

// Pool identifies the IPPool of a range.
type Pool struct {
	// NetworkName separates the pools of networks that have the same addresses; empty for the shared space.
	NetworkName string
	Network     netip.Prefix
	// Node is the node whose slice the pool contains; empty if all nodes share the pool.
	Node string
}

// Name returns the name of the IPPool: 192.0.2.0-24 for 192.0.2.0/24, with the network name as prefix and the node as suffix.
func (p Pool) Name() string {
	return join(p.NetworkName, normalize(p.Network.String()), p.Node)
}

// ReservationName returns the name of the OverlappingRangeIPReservation of an address.
func ReservationName(networkName string, a netip.Addr) string {
	return join(networkName, normalize(a.String()))
}

// normalize returns an address or a network in a form that can be part of a name. Like whereabouts, it adds a zero after a trailing colon; it also adds
// one before a leading colon, since names cannot begin with a hyphen.
func normalize(text string) string {
	if strings.HasSuffix(text, ":") {
		text += "0"
	}
	if strings.HasPrefix(text, ":") {
		text = "0" + text
	}
	return strings.NewReplacer(":", "-", "/", "-").Replace(text)
}

func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "-")
}

// PoolOf parses the name of an IPPool of a range; ok is false for a name that Pool.Name cannot return.
func PoolOf(name string, network netip.Prefix) (p Pool, ok bool) {
	network = network.Masked()
	before, after, ok := strings.Cut("-"+name+"-", "-"+normalize(network.String())+"-")
	p = Pool{NetworkName: strings.TrimPrefix(before, "-"), Network: network, Node: strings.TrimSuffix(after, "-")}
	return p, ok && p.Name() == name
}

// Usable returns the range of all assignable addresses of a network.
func Usable(network netip.Prefix) Range {
	network = network.Masked()
	return Range{Network: network, Span: usable(network)}
}
