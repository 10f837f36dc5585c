// Package neighbor encodes and decodes frames of ARP and IPv6 neighbor discovery. It is pure.
package neighbor

import (
	"encoding/binary"
	"net/netip"
	"slices"
)

// MAC is an Ethernet address.
type MAC [6]byte

var broadcast = MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// The numbers of Ethernet, ARP and ICMPv6 that are used here.
const (
	etherARP, etherIPv4, etherIPv6 = 0x0806, 0x0800, 0x86dd
	arpRequest, arpReply           = 1, 2
	protocolICMPv6                 = 58
	hopLimit                       = 255
	optionSource, optionTarget     = 1, 2

	neighborSolicitation, neighborAdvertisement = 135, 136
	flagOverride                                = 0x20

	ethernetLength, arpLength, ipv6Length = 14, 28, 40
	// neighborLength is that of a neighbor message without options.
	neighborLength = 24
)

// Question returns a frame with an ARP request or a neighbor solicitation for an address. from is the address of the sender; if it is not valid, the
// frame is a probe for a duplicate address, from which no machine learns an address.
func Question(about, from netip.Addr, own MAC) []byte {
	if about.Is4() {
		if !from.IsValid() {
			from = netip.IPv4Unspecified()
		}
		return arp(arpRequest, broadcast, own, from, MAC{}, about)
	}
	group := SolicitedNode(about)
	if !from.IsValid() {
		return neighbor(neighborSolicitation, multicastMAC(group), own, netip.IPv6Unspecified(), group, 0, about, nil)
	}
	return neighbor(neighborSolicitation, multicastMAC(group), own, from, group, 0, about, option(optionSource, own))
}

// Announcements returns frames that announce an address at own to all machines and switches of the link.
func Announcements(of netip.Addr, own MAC) [][]byte {
	if of.Is4() {
		return [][]byte{arp(arpRequest, broadcast, own, of, MAC{}, of), arp(arpReply, broadcast, own, of, own, of)}
	}
	all := netip.IPv6LinkLocalAllNodes()
	return [][]byte{neighbor(neighborAdvertisement, multicastMAC(all), own, of, all, flagOverride, of, option(optionTarget, own))}
}

// Answer returns the machine that claims an address in a frame, and whether there is one: by a reply, an announcement, or its own probe for a
// duplicate address. Frames of own are ignored.
func Answer(frame []byte, about netip.Addr, own MAC) (MAC, bool) {
	if len(frame) < ethernetLength {
		return MAC{}, false
	}
	var holder MAC
	var ok bool
	switch body := frame[ethernetLength:]; {
	case about.Is4() && binary.BigEndian.Uint16(frame[12:]) == etherARP:
		holder, ok = arpAnswer(body, about)
	case about.Is6() && binary.BigEndian.Uint16(frame[12:]) == etherIPv6:
		holder, ok = neighborAnswer(body, about, MAC(frame[6:12]))
	}
	return holder, ok && holder != own
}

func arpAnswer(body []byte, about netip.Addr) (MAC, bool) {
	if len(body) < arpLength || binary.BigEndian.Uint16(body[2:]) != etherIPv4 || body[4] != 6 || body[5] != 4 {
		return MAC{}, false
	}
	holder, sender, target := MAC(body[8:14]), netip.AddrFrom4([4]byte(body[14:18])), netip.AddrFrom4([4]byte(body[24:28]))
	probe := sender.IsUnspecified() && target == about && binary.BigEndian.Uint16(body[6:]) == arpRequest
	return holder, sender == about || probe
}

func neighborAnswer(body []byte, about netip.Addr, from MAC) (MAC, bool) {
	if len(body) < ipv6Length+neighborLength || body[6] != protocolICMPv6 || body[7] != hopLimit {
		return MAC{}, false
	}
	source, message := netip.AddrFrom16([16]byte(body[8:24])), body[ipv6Length:]
	if netip.AddrFrom16([16]byte(message[8:24])) != about {
		return MAC{}, false
	}
	switch message[0] {
	case neighborSolicitation:
		return from, source.IsUnspecified()
	case neighborAdvertisement:
		for options := message[neighborLength:]; len(options) >= 8; {
			length := int(options[1]) * 8
			if length == 0 || length > len(options) {
				break
			}
			if options[0] == optionTarget {
				return MAC(options[2:8]), true
			}
			options = options[length:]
		}
		return from, true
	}
	return MAC{}, false
}

// SolicitedNode returns the solicited-node multicast address of an IPv6 address.
func SolicitedNode(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom16([16]byte{0xff, 0x02, 11: 0x01, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
}

// GroupMAC returns the Ethernet multicast address for solicitations of an address, and false if they use broadcast.
func GroupMAC(a netip.Addr) (MAC, bool) {
	if a.Is4() {
		return broadcast, false
	}
	return multicastMAC(SolicitedNode(a)), true
}

func multicastMAC(group netip.Addr) MAC {
	b := group.As16()
	return MAC{0x33, 0x33, b[12], b[13], b[14], b[15]}
}

func ethernet(to, from MAC, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(slices.Concat(to[:], from[:]), kind)
}

func arp(operation uint16, to, senderMAC MAC, sender netip.Addr, targetMAC MAC, target netip.Addr) []byte {
	frame := ethernet(to, senderMAC, etherARP)
	frame = append(frame, 0, 1, etherIPv4>>8, etherIPv4&0xff, 6, 4)
	frame = binary.BigEndian.AppendUint16(frame, operation)
	return slices.Concat(frame, senderMAC[:], sender.AsSlice(), targetMAC[:], target.AsSlice())
}

func option(kind byte, mac MAC) []byte { return append([]byte{kind, 1}, mac[:]...) }

func neighbor(kind byte, to, own MAC, from, group netip.Addr, flags byte, target netip.Addr, option []byte) []byte {
	message := slices.Concat([]byte{kind, 0, 0, 0, flags, 0, 0, 0}, target.AsSlice(), option)
	header := []byte{0x60, 0, 0, 0, 0, byte(len(message)), protocolICMPv6, hopLimit}
	ip := slices.Concat(header, from.AsSlice(), group.AsSlice())
	pseudo := slices.Concat(from.AsSlice(), group.AsSlice(), []byte{0, 0, 0, byte(len(message)), 0, 0, 0, protocolICMPv6}, message)
	binary.BigEndian.PutUint16(message[2:], checksum(pseudo))
	return slices.Concat(ethernet(to, own, etherIPv6), ip, message)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
