package openflow

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Overlaps returns pairs of flows of one table and priority that select a common packet and differ in their actions: which of the two
// treats the packet is undefined. Flows of conjunctions do not overlap with one another, since all of them apply to a packet. A correct
// network has no overlaps. The time of the comparison is quadratic in the number of flows; it is for tests and diagnosis.
func (s Set) Overlaps() []string {
	var found []string
	conditions := make([]map[string]fieldBits, len(s.flows))
	for i, f := range s.flows {
		conditions[i] = conditionsOf(f)
	}
	for i, a := range s.flows {
		for j := i + 1; j < len(s.flows); j++ {
			b := s.flows[j]
			if a.Table != b.Table || a.Priority != b.Priority {
				break // flows are sorted by table and priority
			}
			if actions(a.Actions) != actions(b.Actions) && !apart(a, b, conditions[i], conditions[j]) && common(conditions[i], conditions[j]) {
				found = append(found, fmt.Sprintf("%s and %s", a, b))
			}
		}
	}
	return found
}

// apart reports whether two flows do not overlap because they belong to conjunctions: all flows that select dimensions apply to a packet,
// and then those for whole conjunctions.
func apart(a, b Flow, ofA, ofB map[string]fieldBits) bool {
	_, wholeA := ofA[conjunctionID]
	_, wholeB := ofB[conjunctionID]
	return (conjunctive(a) || wholeA) && (conjunctive(b) || wholeB)
}

const conjunctionID = "conj_id"

// conjunctive reports whether a flow only selects a dimension of conjunctions.
func conjunctive(f Flow) bool {
	return len(f.Actions) > 0 && !slices.ContainsFunc(f.Actions, func(a Action) bool { return !strings.HasPrefix(string(a), "conjunction(") })
}

// fieldBits is a condition on a field: its bits that are set in mask are those of value.
type fieldBits struct{ value, mask uint64 }

// common reports whether a packet can satisfy both conditions.
func common(a, b map[string]fieldBits) bool {
	for field, one := range a {
		if other, exists := b[field]; exists {
			if both := one.mask & other.mask; one.value&both != other.value&both {
				return false
			}
		}
	}
	return true
}

// The pseudo-fields of protocols: one of Ethernet, one of IP.
var protocols = map[Protocol]map[string]fieldBits{
	ARP: {"dl_type": exactly(0x0806)}, IP: {"dl_type": exactly(0x0800)}, IPv6: {"dl_type": exactly(0x86dd)},
	TCP: over(0x0800, 6), UDP: over(0x0800, 17), SCTP: over(0x0800, 132), ICMP: over(0x0800, 1),
	TCPv6: over(0x86dd, 6), UDPv6: over(0x86dd, 17), SCTPv6: over(0x86dd, 132), ICMPv6: over(0x86dd, 58),
}

func exactly(value uint64) fieldBits { return fieldBits{value, math.MaxUint64} }

func over(network, protocol uint64) map[string]fieldBits {
	return map[string]fieldBits{"dl_type": exactly(network), "nw_proto": exactly(protocol)}
}

// connectionStates are the flags of ct_state by their bits.
var connectionStates = []string{"new", "est", "rel", "rpl", "inv", "trk"}

func conditionsOf(f Flow) map[string]fieldBits {
	out := map[string]fieldBits{}
	for _, m := range f.Match {
		name, value, isField := strings.Cut(m.text, "=")
		if !isField {
			for field, b := range protocols[Protocol(m.text)] {
				out[field] = b
			}
			continue
		}
		for field, b := range condition(name, value) {
			out[field] = b
		}
	}
	return out
}

// condition reads a match as this package writes it. IPv6 addresses have two fields of 64 bits.
func condition(name, value string) map[string]fieldBits {
	switch {
	case name == "ct_state":
		return map[string]fieldBits{name: stateBits(value)}
	case name == "nw_frag":
		return map[string]fieldBits{name: exactly(1)}
	case name == "in_port" && value == "LOCAL":
		return map[string]fieldBits{name: exactly(0xfffffffe)}
	}
	if p, err := netip.ParsePrefix(value); err == nil {
		return addressBits(name, p)
	}
	if a, err := netip.ParseAddr(value); err == nil {
		return addressBits(name, netip.PrefixFrom(a, a.BitLen()))
	}
	text, mask, masked := strings.Cut(value, "/")
	b := exactly(number(text))
	if masked {
		b.mask = number(mask)
	}
	return map[string]fieldBits{name: b}
}

func number(text string) uint64 {
	if mac, err := net.ParseMAC(text); err == nil {
		var n uint64
		for _, b := range mac {
			n = n<<8 | uint64(b)
		}
		return n
	}
	n, _ := strconv.ParseUint(text, 0, 64) // this package writes numbers only
	return n
}

func addressBits(name string, p netip.Prefix) map[string]fieldBits {
	bytes, size := p.Addr().AsSlice(), p.Bits()
	out := map[string]fieldBits{}
	for half := 0; half*8 < len(bytes); half++ {
		var b fieldBits
		for i, one := range bytes[half*8 : min(len(bytes), half*8+8)] {
			length := min(max(size-8*(half*8+i), 0), 8)
			b.value, b.mask = b.value<<8|uint64(one), b.mask<<8|uint64(0xff<<(8-length)&0xff)
		}
		out[fmt.Sprintf("%s/%d", name, half)] = b
	}
	return out
}

// stateBits reads flags such as "+trk+est-rpl".
func stateBits(text string) fieldBits {
	var b fieldBits
	for i, flag := range connectionStates {
		if strings.Contains(text, "+"+flag) {
			b.value |= 1 << i
			b.mask |= 1 << i
		} else if strings.Contains(text, "-"+flag) {
			b.mask |= 1 << i
		}
	}
	return b
}
