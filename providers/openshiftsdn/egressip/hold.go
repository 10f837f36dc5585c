package egressip

import (
	"fmt"
	"net/netip"
	"slices"
)

// Claim is an egress IP assigned to a node.
type Claim struct {
	Address netip.Addr
	// VNID is that of the namespace that uses the address.
	VNID      uint32
	Namespace string
}

// Interface is the interface with the node's address.
type Interface struct {
	Name string
	// Network is the node's address with its prefix length.
	Network netip.Prefix
	// Carrier is true if the interface is connected.
	Carrier bool
}

// Kernel is the relevant network state of a node.
type Kernel struct {
	Interface Interface
	// Own are all addresses of the node that are not egress IPs.
	Own []netip.Addr
	// Held are the egress IPs that Interface has.
	Held []netip.Addr
}

// Refusal is the reason why a node cannot have an egress IP.
type Refusal struct {
	Claim
	Reason string
}

// Holding is the decision on the claims of a node. Each claim is in exactly one list.
type Holding struct {
	// Keep are those that the node has. Take are those that it may add if no other host has them.
	Keep, Take []Claim
	Refused    []Refusal
}

// Hold decides which claims a node keeps and adds. Egress IPs of the node that are not in Keep must be removed. masqueradeBit is that of kube-proxy.
func Hold(claims []Claim, k Kernel, masqueradeBit int) Holding {
	var h Holding
	marks := map[uint32]netip.Addr{}
	for _, c := range slices.SortedFunc(slices.Values(claims), func(a, b Claim) int { return a.Address.Compare(b.Address) }) {
		mark := Mark(c.Address, masqueradeBit)
		reason := refuse(c.Address, k)
		if other, taken := marks[mark]; taken && reason == "" {
			reason = fmt.Sprintf("egress IP %s cannot be beside %s, whose last 16 bits are the same: move one of them to another node", c.Address, other)
		}
		switch {
		case reason != "":
			h.Refused = append(h.Refused, Refusal{c, reason})
			continue
		case slices.Contains(k.Held, c.Address):
			h.Keep = append(h.Keep, c)
		default:
			h.Take = append(h.Take, c)
		}
		marks[mark] = c.Address
	}
	return h
}

// refuse returns the reason why a node cannot have an address; empty if it can.
func refuse(a netip.Addr, k Kernel) string {
	network, name := k.Interface.Network.Masked(), k.Interface.Name
	bits := uint16(bitsOf(a))
	switch {
	case !network.IsValid():
		return fmt.Sprintf("egress IP %s has no place: no interface of the node has the hostIP of its HostSubnet", a)
	case slices.Contains(k.Own, a):
		return fmt.Sprintf("egress IP %s is an address of the node itself: choose one that no host has", a)
	case !network.Contains(a):
		return fmt.Sprintf("egress IP %s is outside %s, the network of interface %s: choose one of that network", a, network, name)
	case network.Bits() < 31 && (a == network.Addr() || a == last(network)):
		return fmt.Sprintf("egress IP %s is not the address of a host in %s, the network of interface %s: choose another one", a, network, name)
	case bits == 0 || bits == 0xffff:
		return fmt.Sprintf("egress IP %s ends with 0.0 or 255.255, which no mark of packets can have: choose another one", a)
	case !k.Interface.Carrier:
		return fmt.Sprintf("egress IP %s has no place: interface %s is not connected", a, name)
	}
	return ""
}

func bitsOf(a netip.Addr) uint32 {
	b := a.As4()
	return uint32(b[2])<<8 | uint32(b[3])
}

// last returns the broadcast address of a network.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(b)
}

// spareBit replaces kube-proxy's bit in marks. The lower bits from 13 on belong to kubelet, portmap and kube-proxy.
const spareBit = 12

// Mark returns the mark of packets that leave with an egress IP: the last 16 bits of the address, in the upper bits that kube-proxy does not use. It depends
// on the address alone, so that no packet gets the mark of another address while rules change.
func Mark(a netip.Addr, masqueradeBit int) uint32 { return spread(bitsOf(a), masqueradeBit) }

// MarkMask returns the bits of all marks.
func MarkMask(masqueradeBit int) uint32 { return spread(0xffff, masqueradeBit) }

// DropMark returns the mark of packets of namespaces with egress IPs that must not leave with the address of the node. It is not the mark of any egress IP.
func DropMark(masqueradeBit int) uint32 { return MarkMask(masqueradeBit) }

func spread(bits uint32, masqueradeBit int) uint32 {
	mark := bits << 16
	if bit := uint32(1) << masqueradeBit; masqueradeBit >= 16 && mark&bit != 0 {
		mark = mark&^bit | 1<<spareBit
	}
	return mark
}

// Zone returns the connection tracking zone of connections that leave with an egress IP. A connection that had another source address before is a different
// one.
func Zone(a netip.Addr) uint32 { return bitsOf(a) }
