package whereabouts

import (
	"net/netip"
	"strings"
)

// Pool names the object that has the allocations of a range.
type Pool struct {
	// NetworkName separates the pools of networks that have the same addresses; empty is the space that all share.
	NetworkName string
	Network     netip.Prefix
	// Node is the node whose slice of the network the pool has; empty if all nodes share it.
	Node string
}

// Name is the name of the IPPool: 192.0.2.0/24 is 192.0.2.0-24, with the network's name before it and the node's behind.
func (p Pool) Name() string {
	return join(p.NetworkName, normalize(p.Network.String()), p.Node)
}

// ReservationName is the name of the OverlappingRangeIPReservation of an address.
func ReservationName(networkName string, a netip.Addr) string {
	return join(networkName, normalize(a.String()))
}

// normalize writes an address or a network so that it can be in a name. Whereabouts writes a zero behind a colon at the end; names cannot
// begin with a hyphen either.
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

// PoolOf reads the name of an IPPool of a range; ok is false for a name that Pool.Name does not give. The node is that of the name's end.
func PoolOf(name string, network netip.Prefix) (p Pool, ok bool) {
	network = network.Masked()
	before, after, ok := strings.Cut("-"+name+"-", "-"+normalize(network.String())+"-")
	p = Pool{NetworkName: strings.TrimPrefix(before, "-"), Network: network, Node: strings.TrimSuffix(after, "-")}
	return p, ok && p.Name() == name
}

// Usable returns the range of all addresses of a network that can be assigned.
func Usable(network netip.Prefix) Range {
	network = network.Masked()
	return Range{Network: network, Span: usable(network)}
}
