package openflow

import (
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strings"
)

// Match is one condition on a packet. All conditions of a flow must hold. The zero value always holds.
type Match struct {
	rank int
	text string
}

// The order of conditions in the text of a flow: prerequisites of others come first.
const (
	rankPort = iota
	rankProtocol
	rankFields
)

// InPort selects packets that came by a port, by its number.
func InPort(port uint32) Match { return Match{rankPort, fmt.Sprintf("in_port=%d", port)} }

// FromLocal selects packets that came by the local port of the bridge.
func FromLocal() Match { return Match{rankPort, "in_port=LOCAL"} }

// Protocol is the protocol of a packet; most other conditions require one.
type Protocol string

// The protocols. IP is IPv4 alone, as in Open vSwitch; TCP, UDP, SCTP and ICMP are over IPv4.
const (
	ARP    Protocol = "arp"
	IP     Protocol = "ip"
	IPv6   Protocol = "ipv6"
	TCP    Protocol = "tcp"
	UDP    Protocol = "udp"
	SCTP   Protocol = "sctp"
	ICMP   Protocol = "icmp"
	TCPv6  Protocol = "tcp6"
	UDPv6  Protocol = "udp6"
	SCTPv6 Protocol = "sctp6"
	ICMPv6 Protocol = "icmp6"
)

// Is selects packets of a protocol.
func Is(p Protocol) Match { return Match{rankProtocol, string(p)} }

// Source selects packets whose source address is in a range. The protocol must be of the range's IP family.
func Source(p netip.Prefix) Match { return address("src", p) }

// Destination selects packets whose destination address is in a range.
func Destination(p netip.Prefix) Match { return address("dst", p) }

func address(end string, p netip.Prefix) Match {
	p = p.Masked()
	switch {
	case p.Bits() == 0:
		return Match{}
	case p.Addr().Is4():
		return field("nw_"+end, prefix(p))
	}
	return field("ipv6_"+end, prefix(p))
}

// ARPSource selects ARP packets by the address of their sender, ARPTarget by that which they ask for.
func ARPSource(p netip.Prefix) Match { return arp("arp_spa", p) }

// ARPTarget selects ARP packets by the address that they ask for.
func ARPTarget(p netip.Prefix) Match { return arp("arp_tpa", p) }

func arp(name string, p netip.Prefix) Match {
	if p.Bits() == 0 {
		return Match{}
	}
	return field(name, prefix(p.Masked()))
}

// ARPSender selects ARP packets by the hardware address of their sender.
func ARPSender(mac net.HardwareAddr) Match { return field("arp_sha", mac.String()) }

// EthSource and EthDestination select packets by hardware addresses.
func EthSource(mac net.HardwareAddr) Match { return field("dl_src", mac.String()) }

// EthDestination selects packets by the hardware address that they are for.
func EthDestination(mac net.HardwareAddr) Match { return field("dl_dst", mac.String()) }

// Multicast selects packets whose hardware address of the destination is one of a group.
func Multicast() Match {
	return field("dl_dst", "01:00:00:00:00:00/01:00:00:00:00:00")
}

// SourcePort selects packets of TCP, UDP or SCTP by a range of source ports; see Ports.
func SourcePort(p PortMask) Match { return port("tp_src", p) }

// DestinationPort selects packets of TCP, UDP or SCTP by a range of destination ports; see Ports.
func DestinationPort(p PortMask) Match { return port("tp_dst", p) }

func port(name string, p PortMask) Match {
	switch p.Mask {
	case 0:
		return Match{}
	case 0xffff:
		return field(name, fmt.Sprint(p.Port))
	}
	return field(name, fmt.Sprintf("%#x/%#x", p.Port, p.Mask))
}

// PortMask is all ports that are equal to Port in the bits of Mask.
type PortMask struct{ Port, Mask uint16 }

// Ports returns the masks that together are a range of ports, both ends included: a flow matches one of them. A range whose first port
// is above its last one has none.
func Ports(first, last uint16) []PortMask {
	var masks []PortMask
	for next, end := uint32(first), uint32(last); next <= end; {
		size := uint32(1) << 16
		if next != 0 {
			size = 1 << bits.TrailingZeros32(next)
		}
		for next+size-1 > end {
			size >>= 1
		}
		masks = append(masks, PortMask{uint16(next), uint16(-size)})
		next += size
	}
	return masks
}

// LaterFragments selects fragments of an IP packet but the first one. They have no ports.
func LaterFragments() Match { return field("nw_frag", "later") }

// Register selects packets by bits of a register, which earlier flows have set. Registers are 0 at first.
func Register(number int, value, mask uint32) Match {
	return masked(fmt.Sprintf("reg%d", number), value, mask)
}

// TunnelID selects packets by the number of their virtual network: they came by a tunnel, or an earlier flow has set it.
func TunnelID(id uint64) Match { return field("tun_id", fmt.Sprintf("%#x", id)) }

// TunnelSource selects packets that came by a tunnel from a node.
func TunnelSource(node netip.Addr) Match {
	if node.Is4() {
		return field("tun_src", node.String())
	}
	return field("tun_ipv6_src", node.String())
}

// ConnectionState selects packets by their state in connection tracking: "+trk+est-rpl". It requires a protocol.
func ConnectionState(flags string) Match { return field("ct_state", flags) }

// ConnectionMark selects packets by the mark of their connection.
func ConnectionMark(value, mask uint32) Match { return masked("ct_mark", value, mask) }

// ConjunctionID selects packets that all dimensions of a conjunction select.
func ConjunctionID(id uint32) Match { return field(conjunctionID, fmt.Sprint(id)) }

func field(name, value string) Match { return Match{rankFields, name + "=" + value} }

func masked(name string, value, mask uint32) Match {
	switch mask {
	case 0:
		return Match{}
	case 0xffffffff:
		return field(name, fmt.Sprintf("%#x", value))
	}
	return field(name, fmt.Sprintf("%#x/%#x", value&mask, mask))
}

// prefix writes a range as Open vSwitch does: a single address without its length.
func prefix(p netip.Prefix) string {
	return strings.TrimSuffix(p.String(), fmt.Sprintf("/%d", p.Addr().BitLen()))
}
