package openflow

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Action is an operation on a packet.
type Action string

// Output sends a copy of the packet by a port, unless the packet came by the same port.
func Output(port uint32) Action { return Action(fmt.Sprintf("output:%d", port)) }

// OutputRegister sends a copy by the port whose number is in a register.
func OutputRegister(number int) Action { return Action(fmt.Sprintf("output:NXM_NX_REG%d[]", number)) }

// OutputLocal sends a copy by the local port of the bridge.
func OutputLocal() Action { return "output:LOCAL" }

// Return sends a copy by the port that the packet came by.
func Return() Action { return "in_port" }

// Normal treats the packet as a switch that learns addresses does.
func Normal() Action { return "NORMAL" }

// Goto continues in a table with a higher number. It is the last action.
func Goto(table uint8) Action { return Action(fmt.Sprintf("goto_table:%d", table)) }

// Resubmit looks the packet up in any table, and then carries out the following actions.
func Resubmit(table uint8) Action { return Action(fmt.Sprintf("resubmit(,%d)", table)) }

// SetRegister sets a register.
func SetRegister(number int, value uint32) Action {
	return set(fmt.Sprintf("%#x", value), fmt.Sprintf("reg%d", number))
}

// SetTunnelID sets the number of the virtual network for tunnels.
func SetTunnelID(id uint64) Action { return set(fmt.Sprintf("%#x", id), "tun_id") }

// SetTunnelDestination sets the node to which a tunnel leads.
func SetTunnelDestination(node netip.Addr) Action {
	if node.Is4() {
		return set(node.String(), "tun_dst")
	}
	return set(node.String(), "tun_ipv6_dst")
}

// SetEthSource sets the hardware address that the packet comes from.
func SetEthSource(mac net.HardwareAddr) Action { return set(mac.String(), "eth_src") }

// SetEthDestination sets the hardware address that the packet is for.
func SetEthDestination(mac net.HardwareAddr) Action { return set(mac.String(), "eth_dst") }

func set(value, field string) Action { return Action("set_field:" + value + "->" + field) }

// Move copies a field, in the notation of ovs-actions(7): Move("NXM_NX_REG0[]", "NXM_NX_TUN_ID[0..31]").
func Move(from, to string) Action { return Action("move:" + from + "->" + to) }

// Conjunction makes the flow select one of the dimensions, from 1, of a conjunction. A packet that all dimensions select matches ConjunctionID.
func Conjunction(id uint32, dimension, dimensions int) Action {
	return Action(fmt.Sprintf("conjunction(%d,%d/%d)", id, dimension, dimensions))
}

// Multipath puts a number below buckets into a register, the same for all packets of a TCP connection, and for all other packets between two addresses:
// fragments of UDP have no ports.
func Multipath(buckets uint16, register int) Action {
	return Action(fmt.Sprintf("multipath(symmetric_l3l4,50,modulo_n,%d,0,NXM_NX_REG%d[0..15])", buckets, register))
}

// Meter drops the packet if it exceeds the rate of a meter.
func Meter(id uint32) Action { return Action(fmt.Sprintf("meter:%d", id)) }

// TrackAgain looks the packet up in connection tracking, and restarts in table 0 with the state of its connection.
func TrackAgain() Action { return "ct(table=0)" }

// Annotate does nothing. It stores data in the flow of a bridge, which a list of its flows shows: 6 bytes, or 8 more or 16 more and so on, since
// Open vSwitch fills up others with zeros.
func Annotate(data []byte) Action {
	parts := make([]string, len(data))
	for i, b := range data {
		parts[i] = fmt.Sprintf("%02x", b)
	}
	return Action("note:" + strings.Join(parts, "."))
}

// Track looks the packet up in connection tracking.
type Track struct {
	// Commit adds the connection to the connection tracking table. Without it, new connections stay new.
	Commit bool
	// Force, with Commit, makes the sender of this packet the one that has opened the connection, if the connection is known the other
	// way round.
	Force bool
	// Mark is set on a connection that is committed; 0 sets none.
	Mark uint32
	// Zone separates connections with the same addresses and ports; 0 is the common one.
	Zone uint16
	// Table is where the packet continues, with the state of its connection; 0 is nowhere: only further actions see it, without state.
	Table uint8
}

// Action returns the action.
func (t Track) Action() Action {
	var parts []string
	if t.Commit {
		parts = append(parts, "commit")
	}
	if t.Commit && t.Force {
		parts = append(parts, "force")
	}
	if t.Zone != 0 {
		parts = append(parts, fmt.Sprintf("zone=%d", t.Zone))
	}
	if t.Table != 0 {
		parts = append(parts, fmt.Sprintf("table=%d", t.Table))
	}
	if t.Commit && t.Mark != 0 {
		parts = append(parts, fmt.Sprintf("exec(set_field:%#x->ct_mark)", t.Mark))
	}
	return Action("ct(" + strings.Join(parts, ",") + ")")
}
